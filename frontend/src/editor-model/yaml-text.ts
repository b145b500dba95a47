import { fieldErrors } from '@orrery/contract';
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { fieldText, pathOf } from './pointer.js';

/** Position of an error in a text; lines and columns count from 1. */
export interface TextProblem {
  line: number;
  column: number;
  /** Names the field, if it is of one: `title must be given`. */
  message: string;
  pointer: string;
}

type Refused = { ok: false; problems: TextProblem[] };

interface Parsed {
  readonly ok: true;
  readonly value: unknown;
  readonly document: Document;
  readonly lines: LineCounter;
}

/** Reads a text as YAML. Every problem has its line. */
export function parsed(text: string): Parsed | Refused {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  if (document.errors.length > 0) {
    return {
      ok: false,
      problems: document.errors.map((error) => {
        const { line, col } = lines.linePos(error.pos[0]);
        return { line: Math.max(1, line), column: Math.max(1, col), message: error.message, pointer: '' };
      }),
    };
  }
  try {
    return { ok: true, value: document.toJS({ maxAliasCount: 100 }), document, lines };
  } catch (error) {
    return { ok: false, problems: [{ line: 1, column: 1, message: (error as Error).message, pointer: '' }] };
  }
}

/** A schema of the contract. */
interface Schema<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false; error: Parameters<typeof fieldErrors>[0] };
}

/** The value by its schema. Every problem has the line of its field; of several with one field, the first is told. */
export function checked<T>(schema: Schema<T>, { value, document, lines }: Parsed): { ok: true; value: T } | Refused {
  const result = schema.safeParse(value);
  if (result.success) return { ok: true, value: result.data };
  return {
    ok: false,
    problems: firstOfEach(fieldErrors(result.error)).map(({ pointer, detail }) => ({
      ...place(document, lines, pathOf(pointer)),
      message: `${fieldText(pointer)} ${detail}`.trimStart(),
      pointer,
    })),
  };
}

function firstOfEach<T extends { readonly pointer: string }>(errors: readonly T[]): T[] {
  return errors.filter(({ pointer }, i) => errors.findIndex((each) => each.pointer === pointer) === i);
}

/** Position of a JSON Pointer in a YAML text: that of its deepest existing part. */
export function locate(text: string, pointer: string): { line: number; column: number } {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  return place(document, lines, pathOf(pointer));
}

function place(document: Document, lines: LineCounter, path: readonly PropertyKey[]): { line: number; column: number } {
  let offset = 0;
  let here: unknown = document.contents;
  for (const step of path) {
    if (isMap(here)) {
      const pair = here.items.find((each) => isScalar(each.key) && String(each.key.value) === String(step));
      if (!pair) break;
      offset = start(pair.key) ?? offset;
      here = pair.value;
    } else if (isSeq(here)) {
      const item = here.items[Number(step)];
      if (item === undefined) break;
      offset = start(item) ?? offset;
      here = item;
    } else break;
  }
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

function start(node: unknown): number | undefined {
  return isNode(node) ? (node as Node).range?.[0] : undefined;
}
