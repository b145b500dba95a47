import { ChainDefinition, fieldErrors } from '@orrery/contract';
import { Document, isMap, isNode, isScalar, isSeq, LineCounter, type Node, parseDocument, visit } from 'yaml';
import { fieldText, pathOf } from './pointer.js';
import { readComments, writeComments } from './yaml-comments.js';

/** Position of an error in a text; lines and columns count from 1. */
export interface TextProblem {
  line: number;
  column: number;
  /** Names the field, if it is of one: `title must be given`. */
  message: string;
  pointer: string;
}

export type YamlResult = { ok: true; definition: ChainDefinition } | { ok: false; problems: TextProblem[] };

const NODE_KEYS = ['id', 'kind', 'nf', 'title', 'config', 'position'];
const EDGE_KEYS = ['id', 'from', 'to', 'filter', 'rate_bps'];
const DEFINITION_KEYS = ['name', 'title', 'description', 'traffic_class', 'nodes', 'edges', 'slos', 'class_slos'];

/** The known keys in their order, then all others. */
function ordered(value: object, keys: readonly string[]): Record<string, unknown> {
  const source = value as Record<string, unknown>;
  const all = [...keys, ...Object.keys(source).filter((key) => !keys.includes(key))];
  return Object.fromEntries(all.filter((key) => source[key] !== undefined).map((key) => [key, source[key]]));
}

/** The definition as YAML with its comments: keys in the order of the contract, nodes and edges in their own order, small items on one line. */
export function toYaml({ comments, ...definition }: ChainDefinition): string {
  const nodes = definition.nodes.map((node) => ordered(node, NODE_KEYS));
  const edges = definition.edges.map((edge) => ordered(edge, EDGE_KEYS));
  const document = new Document(ordered({ ...definition, nodes, edges }, DEFINITION_KEYS));
  visit(document, {
    Collection(_, node) {
      if (isSeq(node) ? node.items.every(isScalar) : isMap(node) && node.items.every((pair) => isScalar(pair.value))) {
        node.flow = node.items.length <= 3;
      }
    },
    Pair(_, pair) {
      if (isScalar(pair.key) && (pair.key.value === 'position' || pair.key.value === 'match') && isNode(pair.value)) {
        (pair.value as { flow?: boolean }).flow = true;
      }
    },
  });
  if (comments) writeComments(document, comments);
  return document.toString({ lineWidth: 120, flowCollectionPadding: true });
}

/** Reads what `toYaml` wrote or an operator typed (JSON is YAML too). Every problem has its line. */
export function fromYaml(text: string): YamlResult {
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
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    return { ok: false, problems: [{ line: 1, column: 1, message: (error as Error).message, pointer: '' }] };
  }
  const comments = readComments(document);
  if (comments && typeof value === 'object') {
    const { comments: given } = value as Pick<ChainDefinition, 'comments'>;
    value = { ...value, comments: { ...given, ...comments } };
  }
  const parsed = ChainDefinition.safeParse(value);
  if (parsed.success) return { ok: true, definition: parsed.data };
  return {
    ok: false,
    problems: fieldErrors(parsed.error).map(({ pointer, detail }) => ({
      ...place(document, lines, pathOf(pointer)),
      message: `${fieldText(pointer)} ${detail}`.trimStart(),
      pointer,
    })),
  };
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
