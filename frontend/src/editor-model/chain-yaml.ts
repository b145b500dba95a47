import { ChainDefinition } from '@orrery/contract';
import { Document, isMap, isNode, isScalar, isSeq, visit } from 'yaml';
import { readComments, writeComments } from './yaml-comments.js';
import { checked, parsed, type TextProblem } from './yaml-text.js';

export type YamlResult = { ok: true; definition: ChainDefinition } | { ok: false; problems: TextProblem[] };

const NODE_KEYS = ['id', 'kind', 'nf', 'title', 'config', 'cpu_limit', 'position'];
const EDGE_KEYS = ['id', 'from', 'to', 'filter', 'rate_bps'];
const DEFINITION_KEYS = [
  'name',
  'title',
  'description',
  'traffic_class',
  'nodes',
  'edges',
  'slos',
  'class_slos',
  'priority',
];

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
  const read = parsed(text);
  if (!read.ok) return read;
  let { value } = read;
  const comments = readComments(read.document);
  if (comments && typeof value === 'object') {
    const { comments: given } = value as Pick<ChainDefinition, 'comments'>;
    value = { ...value, comments: { ...given, ...comments } };
  }
  const result = checked(ChainDefinition, { ...read, value });
  return result.ok ? { ok: true, definition: result.value } : result;
}
