import protobuf from 'protobufjs';

interface Token {
  readonly kind: 'word' | 'string' | 'sign';
  readonly text: string;
  readonly line: number;
}

const TOKENS =
  /(?<space>[ \t\r\n]+|#[^\n]*)|(?<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?<word>[+-]?[A-Za-z0-9_.]+)|(?<sign>[{}<>[\]:,;/])/gy;

/**
 * Reads a message in the text format of protocol buffers, as p4c writes P4Info. Result: a plain object with camel-case
 * names for `type`. Throws an error that names line and field.
 */
export function parseTextFormat(text: string, type: protobuf.Type): Record<string, unknown> {
  return new Reader(tokens(text)).message(type, null);
}

function tokens(text: string): Token[] {
  const found: Token[] = [];
  let line = 1;
  let at = 0;
  for (const match of text.matchAll(TOKENS)) {
    const { space, string, word, sign } = match.groups!;
    if (string !== undefined) found.push({ kind: 'string', text: unquoted(string), line });
    else if (word !== undefined) found.push({ kind: 'word', text: word, line });
    else if (sign !== undefined) found.push({ kind: 'sign', text: sign, line });
    line += (space ?? '').split('\n').length - 1;
    at = match.index + match[0].length;
  }
  if (at < text.length) throw new Error(`line ${line}: unexpected ${JSON.stringify(text.slice(at, at + 10))}`);
  return found;
}

const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', '\\': '\\', '"': '"', "'": "'" };
/** Byte by byte, each as a character of its code. */
function unquoted(quoted: string): string {
  return Buffer.from(quoted.slice(1, -1))
    .toString('latin1')
    .replace(/\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))/gs, (_all, hex, octal, other) =>
      hex !== undefined
        ? String.fromCharCode(Number.parseInt(hex, 16))
        : octal !== undefined
          ? String.fromCharCode(Number.parseInt(octal, 8) & 0xff)
          : (ESCAPES[other] ?? other),
    );
}

class Reader {
  private at = 0;

  constructor(private readonly all: readonly Token[]) {}

  /** Up to `end`; null: to the end of the text. */
  message(type: protobuf.Type, end: string | null): Record<string, unknown> {
    const out: Record<string, unknown> = {};
    for (;;) {
      const token = this.all[this.at];
      if (!token) {
        if (end !== null) throw new Error(`the text ends within a ${type.name}`);
        return out;
      }
      this.at += 1;
      if (token.kind === 'sign' && token.text === end) return out;
      if (token.kind === 'sign' && /[,;]/.test(token.text)) continue;
      if (token.kind !== 'word') throw wrong(token, `the name of a field of ${type.name}`);
      const field = type.fields[protobuf.util.camelCase(token.text)] ?? type.fields[token.text];
      if (!field) throw new Error(`line ${token.line}: ${type.name} has no field ${token.text}`);
      this.field(field, out);
    }
  }

  private field(field: protobuf.Field, out: Record<string, unknown>): void {
    if (this.peek(':')) this.at += 1;
    const values = this.peek('[') ? this.list(field) : [this.value(field)];
    if (field instanceof protobuf.MapField) {
      const pairs = (values as { key?: unknown; value?: unknown }[]).map(({ key, value }) => [
        String(key ?? ''),
        value,
      ]);
      out[field.name] = { ...(out[field.name] as object | undefined), ...Object.fromEntries(pairs) };
    } else if (field.repeated) out[field.name] = [...((out[field.name] as unknown[] | undefined) ?? []), ...values];
    else out[field.name] = values.at(-1);
  }

  private list(field: protobuf.Field): unknown[] {
    this.at += 1;
    const values: unknown[] = [];
    while (!this.peek(']')) {
      values.push(this.value(field));
      if (this.peek(',')) this.at += 1;
    }
    this.at += 1;
    return values;
  }

  private value(field: protobuf.Field): unknown {
    const token = this.all[this.at];
    if (!token) throw new Error(`the text ends before the value of ${field.name}`);
    this.at += 1;
    if (token.kind === 'sign' && /[{<]/.test(token.text)) {
      const end = token.text === '{' ? '}' : '>';
      if (field instanceof protobuf.MapField) return this.message(entryOf(field), end);
      if (!(field.resolvedType instanceof protobuf.Type)) throw wrong(token, `a value of ${field.name}`);
      return this.message(field.resolvedType, end);
    }
    if (field.resolvedType instanceof protobuf.Enum && token.kind === 'word') {
      const number = field.resolvedType.values[token.text] ?? Number(token.text);
      if (!Number.isInteger(number)) throw wrong(token, `a value of ${field.resolvedType.name}`);
      return field.resolvedType.valuesById[number] ?? number;
    }
    let { text } = token;
    // Texts that follow each other are one.
    while (token.kind === 'string' && this.all[this.at]?.kind === 'string') text += this.all[this.at++]!.text;
    return scalar(field, { ...token, text });
  }

  private peek(sign: string): boolean {
    const token = this.all[this.at];
    return token?.kind === 'sign' && token.text === sign;
  }
}

/** A map is written as its entries (language guide, maps). */
function entryOf(field: protobuf.MapField): protobuf.Type {
  const value = new protobuf.Field('value', 2, field.type);
  value.resolvedType = field.resolvedType;
  value.resolved = true;
  const key = new protobuf.Field('key', 1, field.keyType);
  key.resolved = true;
  return new protobuf.Type(`${field.name} entry`).add(key).add(value);
}

function scalar(field: protobuf.Field, token: Token): unknown {
  const { kind, text } = token;
  if (field.type === 'string' && kind === 'string') return Buffer.from(text, 'latin1').toString('utf8');
  if (field.type === 'bytes' && kind === 'string') return Buffer.from(text, 'latin1');
  if (kind !== 'word' || field.resolvedType) throw wrong(token, `a value of ${field.name}`);
  if (field.type === 'bool' && /^(true|false|t|f|0|1)$/i.test(text)) return /^(true|t|1)$/i.test(text);
  const whole = /^[+-]?(0x[0-9a-f]+|\d+)$/i.test(text);
  if (/64$/.test(field.type) && whole) return BigInt(text).toString();
  if (/^(float|double)$/.test(field.type) || (/32$/.test(field.type) && whole)) return Number(text);
  throw wrong(token, `a ${field.type} for ${field.name}`);
}

function wrong({ text, line }: Token, wanted: string): Error {
  return new Error(`line ${line}: ${JSON.stringify(text)} is not ${wanted}`);
}
