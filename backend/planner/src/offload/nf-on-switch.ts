import type { MatchTerm, NfDescriptor, NfOnSwitch } from '@orrery/contract';
import { effectiveConfig } from '../check/implementation.js';
import { parsePrefix } from '../check/ipv4.js';

const PROTOCOLS: Readonly<Record<string, number>> = { icmp: 1, tcp: 6, udp: 17, icmpv6: 58 };
const MOST_PORT = 65_535;

/** What an NF is on a switch, or why it cannot be one there. */
export function nfOnSwitch(
  descriptor: NfDescriptor,
  config: Readonly<Record<string, unknown>>,
): { readonly runs: NfOnSwitch } | { readonly because: string } {
  const { on_switch, title } = descriptor;
  if (!on_switch) return { because: `No switch runs the NF ${title}.` };
  const set = effectiveConfig(descriptor, config);
  for (const [field, value] of Object.entries(on_switch.requires ?? {}))
    if (set[field] !== value) return { because: `A switch runs it only with ${field} ${String(value)}.` };
  switch (on_switch.program) {
    case 'count':
      return { runs: { program: 'count' } };
    case 'limit':
      return limitOf(set);
    case 'filter':
      return filterOf(set);
  }
}

function limitOf({ rate_bps, burst_bytes }: Record<string, unknown>): ReturnType<typeof nfOnSwitch> {
  const rate_kbps = Number(rate_bps) / 1000;
  if (!Number.isInteger(rate_kbps) || rate_kbps < 1)
    return { because: 'The meter of a switch has whole kilobits a second.' };
  return { runs: { program: 'limit', rate_kbps, burst_bytes: Number(burst_bytes) } };
}

function filterOf({ rules, default_action }: Record<string, unknown>): ReturnType<typeof nfOnSwitch> {
  const read: { match: MatchTerm[]; allow: boolean }[] = [];
  for (const [i, rule] of (Array.isArray(rules) ? rules : []).entries()) {
    const match = termsOf(rule);
    if (match === 'unclear') return { because: `Its rule ${i + 1} is not understood.` };
    // Chains take IPv4 only: a rule for IPv6 addresses holds for none of their packets.
    if (match !== 'ipv6') read.push({ match, allow: rule.action === 'allow' });
  }
  return { runs: { program: 'filter', rules: read, allow: default_action !== 'deny' } };
}

function termsOf(rule: Record<string, unknown>): MatchTerm[] | 'ipv6' | 'unclear' {
  const addresses = [rule.src, rule.dst].filter((one) => one !== undefined);
  if (addresses.some((one) => String(one).includes(':'))) return 'ipv6';
  const terms: MatchTerm[] = [];
  for (const [field, value] of [
    ['ip.src', rule.src],
    ['ip.dst', rule.dst],
  ] as const) {
    if (value === undefined) continue;
    const prefix = String(value).includes('/') ? String(value) : `${value}/32`;
    if (parsePrefix(prefix) === null) return 'unclear';
    terms.push({ field, prefix, not: false });
  }
  if (rule.proto !== undefined) {
    const value = typeof rule.proto === 'number' ? rule.proto : PROTOCOLS[String(rule.proto)];
    if (value === undefined) return 'unclear';
    terms.push({ field: 'ip.proto', value, not: false });
  }
  for (const [field, value] of [
    ['port.src', rule.src_port],
    ['port.dst', rule.dst_port],
  ] as const) {
    if (value === undefined) continue;
    const [lo, hi = lo] = String(value).split('-').map(Number) as [number, number?];
    if (!(lo >= 0 && lo <= hi && hi <= MOST_PORT)) return 'unclear';
    terms.push({ field, lo, hi, not: false });
  }
  return terms;
}
