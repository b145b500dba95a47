import type { P4MatchKind } from './p4-program.js';

/** Values under a mask, or from `lo` to `hi`. */
export type P4Match = { readonly value: bigint; readonly mask: bigint } | { readonly lo: bigint; readonly hi: bigint };

const MAC = /^[0-9a-f]{1,2}(:[0-9a-f]{1,2}){5}$/i;
const IPV4 = /^\d{1,3}(\.\d{1,3}){3}$/;
const HEX_WORD = /^[0-9a-f]{1,4}$/i;

export const allOnes = (bits: number): bigint => (1n << BigInt(bits)) - 1n;

/** Throws an error that says what is wrong with the value of a field of so many bits. */
export function p4Value(text: string, bits: number): bigint {
  const value = read(text.trim(), bits);
  if (value > allOnes(bits)) throw new Error(`${text.trim()} has more than ${bits} ${bits === 1 ? 'bit' : 'bits'}`);
  return value;
}

function read(text: string, bits: number): bigint {
  if (/^(\d+|0x[0-9a-f]+|0b[01]+|0o[0-7]+)$/i.test(text)) return BigInt(text.toLowerCase());
  if (MAC.test(text) && bits === 48) return octets(text.split(':').map((each) => Number.parseInt(each, 16)));
  if (IPV4.test(text) && bits === 32) {
    const parts = text.split('.').map(Number);
    if (parts.some((each) => each > 255)) throw new Error(`${text} is not an IPv4 address`);
    // Some programs read such a number as octal.
    const ambiguous = text.split('.').find((each) => /^0\d/.test(each));
    if (ambiguous !== undefined) throw new Error(`${text} is not an IPv4 address: ${ambiguous} begins with a zero`);
    return octets(parts);
  }
  if (bits === 128 && text.includes(':')) return ipv6(text);
  throw new Error(`${JSON.stringify(text)} is not ${wanted(bits)}`);
}

function wanted(bits: number): string {
  const also: Record<number, string> = {
    48: ' or a MAC address',
    32: ' or an IPv4 address',
    128: ' or an IPv6 address',
  };
  return `a number${also[bits] ?? ''} of ${bits} ${bits === 1 ? 'bit' : 'bits'}`;
}

const octets = (parts: readonly number[]) => parts.reduce((number, each) => (number << 8n) | BigInt(each), 0n);

function ipv6(text: string): bigint {
  const halves = text.split('::');
  const words = halves.map((half) => (half === '' ? [] : half.split(':')));
  const count = words.flat().length;
  const isWhole = halves.length === 1 ? count === 8 : halves.length === 2 && count <= 7;
  if (!isWhole || !words.flat().every((word) => HEX_WORD.test(word))) throw new Error(`${text} is not an IPv6 address`);
  const zeros = Array.from({ length: 8 - count }, () => '0');
  const all = halves.length === 1 ? words[0]! : [...words[0]!, ...zeros, ...words[1]!];
  return all.reduce((number, word) => (number << 16n) | BigInt(`0x${word}`), 0n);
}

/** Null: every value. Throws an error that says what is wrong. */
export function p4Match(text: string, kind: P4MatchKind, bits: number): P4Match | null {
  const given = text.trim();
  const whole = allOnes(bits);
  if (given === '*') {
    if (kind === 'exact') throw new Error('has exact matches, so it needs a value');
    return null;
  }
  if (kind === 'range' && given.includes('..')) {
    const [low = '', high = '', ...more] = given.split('..');
    if (more.length > 0) throw new Error(`${given} is not low..high`);
    const [lo, hi] = [p4Value(low, bits), p4Value(high, bits)];
    if (lo > hi) throw new Error(`${low.trim()} is above ${high.trim()}`);
    return lo === 0n && hi === whole ? null : { lo, hi };
  }
  if (kind === 'ternary' && given.includes('&&&')) {
    const [value = '', mask = ''] = given.split('&&&');
    return masked(p4Value(value, bits), p4Value(mask, bits), given);
  }
  if ((kind === 'ternary' || kind === 'lpm') && given.includes('/')) {
    const [value = '', length = ''] = given.split('/');
    if (!/^\d{1,4}$/.test(length.trim()) || Number(length) > bits)
      throw new Error(`${length.trim() || 'nothing'} is not a prefix length of at most ${bits}`);
    return masked(p4Value(value, bits), prefixMask(Number(length), bits), given);
  }
  const misfit = ['..', '&&&', '/'].find((sign) => given.includes(sign));
  if (misfit !== undefined) throw new Error(`${given}: a key with ${kind} matches takes no ${misfit}`);
  const value = p4Value(given, bits);
  return kind === 'range' ? { lo: value, hi: value } : { value, mask: whole };
}

export const prefixMask = (length: number, bits: number): bigint => allOnes(bits) ^ allOnes(Math.max(0, bits - length));

function masked(value: bigint, mask: bigint, given: string): P4Match | null {
  if ((value & ~mask) !== 0n) throw new Error(`${given} has bits that its mask leaves out`);
  return mask === 0n ? null : { value, mask };
}

/** Length of a mask that is a prefix; null: it is none. */
export function prefixLength(mask: bigint, bits: number): number | null {
  const free = allOnes(bits) ^ mask;
  return (free & (free + 1n)) === 0n ? bits - (free === 0n ? 0 : free.toString(2).length) : null;
}

/** As people write it; a field of 32 bits is an address where its name says so. */
export function p4ValueText(value: bigint, bits: number, name: string): string {
  const hex = value.toString(16);
  if (bits === 48) return hex.padStart(12, '0').match(/../g)!.join(':');
  if (bits === 128)
    return hex
      .padStart(32, '0')
      .match(/..../g)!
      .map((word) => word.replace(/^0+(?=.)/, ''))
      .join(':');
  if (bits === 32 && /addr|ip/i.test(name))
    return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join('.');
  return bits > 16 || /type/i.test(name) ? `0x${hex}` : value.toString();
}

export function p4MatchText(match: P4Match | null, kind: P4MatchKind, bits: number, name: string): string {
  if (match === null) return '*';
  const text = (value: bigint) => p4ValueText(value, bits, name);
  if ('lo' in match) return match.lo === match.hi ? text(match.lo) : `${text(match.lo)}..${text(match.hi)}`;
  if (match.mask === allOnes(bits) && kind !== 'lpm') return text(match.value);
  const length = prefixLength(match.mask, bits);
  return length === null ? `${text(match.value)}&&&0x${match.mask.toString(16)}` : `${text(match.value)}/${length}`;
}
