/** Fields of a message by name as it is written, each with all of its values. */
export type TextMessage = ReadonlyMap<string, readonly TextValue[]>;
/** A word as it is written, such as a number; the bytes of what is in quotes; or a message. */
export type TextValue = string | Uint8Array | TextMessage;

const MOST_NESTED = 64;
const TOKENS =
  /(?<space>[ \t\r\n]+|#[^\n]*)|(?<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?<word>[+-]?[A-Za-z0-9_.]+)|(?<sign>[{}<>[\]:,;])/gy;

interface Token {
  readonly kind: 'word' | 'string' | 'sign';
  readonly text: string;
  /** Of what is in quotes. */
  readonly bytes?: Uint8Array;
  readonly line: number;
}

/** Reads the text format of protocol buffers without knowing the message. Throws an error that names the line. */
export function readTextFormat(text: string): TextMessage {
  return new Reader(tokens(text)).message(null, 0);
}

/** The same of the JSON form of a message (proto3 language guide, JSON mapping). */
export function messageOfJson(value: unknown, depth = 0): TextMessage {
  if (depth > MOST_NESTED) throw new Error(`is nested deeper than ${MOST_NESTED} levels`);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('is not a JSON object');
  const one = (each: unknown): TextValue => {
    if (typeof each === 'string') return new TextEncoder().encode(each);
    return typeof each === 'object' && each !== null ? messageOfJson(each, depth + 1) : String(each);
  };
  return new Map(
    Object.entries(value).flatMap(([key, each]): [string, TextValue[]][] =>
      each === null ? [] : [[key, Array.isArray(each) ? each.map(one) : [one(each)]]],
    ),
  );
}

function tokens(text: string): Token[] {
  const found: Token[] = [];
  let line = 1;
  let at = 0;
  for (const match of text.matchAll(TOKENS)) {
    const { space, string, word, sign } = match.groups!;
    if (string !== undefined) found.push({ kind: 'string', text: string, bytes: unquoted(string), line });
    else if (word !== undefined) found.push({ kind: 'word', text: word, line });
    else if (sign !== undefined) found.push({ kind: 'sign', text: sign, line });
    line += (space ?? '').split('\n').length - 1;
    at = match.index + match[0].length;
  }
  if (at < text.length) throw new Error(`line ${line}: unexpected ${JSON.stringify(text.slice(at, at + 10))}`);
  return found;
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

/** Escapes name bytes, of UTF-8 where it is a text (text format, string literals). */
function unquoted(quoted: string): Uint8Array {
  const escapes = /\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))/gs;
  const bytes: number[] = [];
  const plain = (text: string) => bytes.push(...new TextEncoder().encode(text));
  let at = 1;
  for (const { 0: all, 1: hex, 2: octal, 3: other, index } of quoted.matchAll(escapes)) {
    plain(quoted.slice(at, index));
    if (hex !== undefined) bytes.push(Number.parseInt(hex, 16));
    else if (octal !== undefined) bytes.push(Number.parseInt(octal, 8) & 0xff);
    else plain(ESCAPES[other!] ?? other!);
    at = index + all.length;
  }
  plain(quoted.slice(at, -1));
  return Uint8Array.from(bytes);
}

class Reader {
  private at = 0;

  constructor(private readonly all: readonly Token[]) {}

  /** Up to `end`; null: to the end of the text. */
  message(end: string | null, depth: number): TextMessage {
    if (depth > MOST_NESTED) throw new Error(`is nested deeper than ${MOST_NESTED} levels`);
    const fields = new Map<string, TextValue[]>();
    for (;;) {
      const token = this.all[this.at];
      if (!token && end !== null) throw new Error('the text ends within a message');
      if (!token) return fields;
      this.at += 1;
      if (token.kind === 'sign' && token.text === end) return fields;
      if (token.kind === 'sign' && /[,;]/.test(token.text)) continue;
      if (token.kind !== 'word') throw wrong(token, 'the name of a field');
      const values = fields.get(token.text) ?? [];
      fields.set(token.text, values);
      if (this.takes(':')) this.list(values, token, depth);
      else values.push(this.nested(token, depth));
    }
  }

  private list(values: TextValue[], name: Token, depth: number): void {
    if (!this.takes('[')) {
      values.push(this.value(name, depth));
      return;
    }
    while (!this.takes(']')) {
      values.push(this.value(name, depth));
      this.takes(',');
    }
  }

  private value(name: Token, depth: number): TextValue {
    const token = this.all[this.at];
    if (!token) throw ended(name);
    if (token.kind === 'sign') return this.nested(name, depth);
    this.at += 1;
    if (token.kind === 'word') return token.text;
    // Texts that follow each other are one.
    const parts = [token.bytes!];
    while (this.all[this.at]?.kind === 'string') parts.push(this.all[this.at++]!.bytes!);
    return Uint8Array.from(parts.flatMap((part) => [...part]));
  }

  private nested(name: Token, depth: number): TextMessage {
    if (this.takes('{')) return this.message('}', depth + 1);
    if (this.takes('<')) return this.message('>', depth + 1);
    const token = this.all[this.at];
    if (!token) throw ended(name);
    throw wrong(token, `a value of ${name.text}`);
  }

  private takes(sign: string): boolean {
    const token = this.all[this.at];
    const isIt = token?.kind === 'sign' && token.text === sign;
    if (isIt) this.at += 1;
    return isIt;
  }
}

const ended = ({ line, text }: Token) => new Error(`line ${line}: the text ends before the value of ${text}`);

function wrong({ text, line }: Token, wanted: string): Error {
  return new Error(`line ${line}: ${JSON.stringify(text)} is not ${wanted}`);
}
