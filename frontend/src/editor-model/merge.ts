import type { ChainDefinition } from '@orrery/contract';
import { same } from './diff.js';
import { pointerOf } from './pointer.js';

/** What both sides changed differently, by JSON Pointer with ids in place of indices; `mine` was kept. */
export interface Overlap {
  pointer: string;
  mine: unknown;
  theirs: unknown;
}

export interface Merged {
  definition: ChainDefinition;
  overlaps: Overlap[];
}

/**
 * Three-way merge of two drafts based on `base`. What only one side changed is taken from that side; lists of items with ids
 * are merged item by item. Edges that lose an end to the other side's deletion are removed.
 */
export function mergeDefinitions(base: ChainDefinition, mine: ChainDefinition, theirs: ChainDefinition): Merged {
  const overlaps: Overlap[] = [];
  const merged = merge(base, mine, theirs, [], overlaps) as ChainDefinition;
  const nodes = new Set(merged.nodes.map((node) => node.id));
  const edges = merged.edges.filter((edge) => nodes.has(edge.from) && nodes.has(edge.to));
  return { definition: { ...merged, edges }, overlaps };
}

type Fields = Record<string, unknown>;
type Thing = { id: string };

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isThings = (value: unknown): value is Thing[] =>
  Array.isArray(value) && value.every((item) => isFields(item) && typeof item.id === 'string');

function merge(base: unknown, mine: unknown, theirs: unknown, path: readonly string[], overlaps: Overlap[]): unknown {
  if (same(mine, base) || same(mine, theirs)) return theirs;
  if (same(theirs, base)) return mine;
  if (isThings(mine) && isThings(theirs) && isThings(base)) return mergeThings(base, mine, theirs, path, overlaps);
  if (isFields(mine) && isFields(theirs)) {
    const before = isFields(base) ? base : {};
    const keys = new Set([...Object.keys(theirs), ...Object.keys(mine)]);
    const joined = [...keys].map((key) => [key, merge(before[key], mine[key], theirs[key], [...path, key], overlaps)]);
    return Object.fromEntries(joined.filter(([, value]) => value !== undefined));
  }
  overlaps.push({ pointer: pointerOf(path), mine, theirs });
  return mine;
}

/** Their order, then what only mine has. */
function mergeThings(
  base: readonly Thing[],
  mine: readonly Thing[],
  theirs: readonly Thing[],
  path: readonly string[],
  overlaps: Overlap[],
): unknown[] {
  const find = (list: readonly Thing[], id: string) => list.find((thing) => thing.id === id);
  const ids = new Set([...theirs, ...mine].map((thing) => thing.id));
  return [...ids].flatMap((id) => {
    const joined = merge(find(base, id), find(mine, id), find(theirs, id), [...path, id], overlaps);
    return joined === undefined ? [] : [joined];
  });
}

/** Description of a conflict: where it is, which value was kept and which was discarded. */
export function overlapText({ pointer, mine, theirs }: Overlap): string {
  return `${pointer.slice(1).replaceAll('/', ' / ')}: ${valueText(mine)} instead of ${valueText(theirs)}`;
}

const LONGEST_VALUE = 60;

function valueText(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}
