import type { ChainDefinition, ChainEdge, ChainNode } from '@orrery/contract';
import { filterLabel } from './attributes.js';
import { nodeLabel, nodeOf } from './graph.js';

export type Change = 'added' | 'removed' | 'changed';

/** One difference between two definitions, in words. */
export interface Difference {
  change: Change;
  part: 'node' | 'edge' | 'class' | 'slo' | 'details';
  /** Id of the node, edge or SLO; the field for the rest. */
  id: string;
  summary: string;
}

/** The changes from `before` to `after`. Positions are ignored: they do not affect packets. */
export function diffDefinitions(before: ChainDefinition, after: ChainDefinition): Difference[] {
  return [
    ...diffLists('node', before.nodes, after.nodes, {
      label: nodeLabel,
      essence: withoutPosition,
      describe: nodeChange,
    }),
    ...diffLists('edge', before.edges, after.edges, {
      label: (edge) => edgeLabel(after.edges.includes(edge) ? after : before, edge),
      essence: (edge) => edge,
      describe: edgeChange,
    }),
    ...(same(before.traffic_class, after.traffic_class)
      ? []
      : [{ change: 'changed', part: 'class', id: 'traffic_class', summary: classChange(before, after) } as const]),
    ...diffLists('slo', before.slos, after.slos, {
      label: (slo) => slo.id,
      essence: (slo) => slo,
      describe: () => 'target',
    }),
    ...diffLists('slo', before.class_slos, after.class_slos, {
      label: (slo) => slo.id,
      essence: (slo) => slo,
      describe: () => 'classes or ratio',
    }),
    ...(['name', 'title', 'description', 'priority'] as const)
      .filter((field) => before[field] !== after[field])
      .map(
        (field): Difference => ({
          change: 'changed',
          part: 'details',
          id: field,
          summary:
            field === 'description'
              ? 'description'
              : `${field}: ${before[field] ?? 'usual'} → ${after[field] ?? 'usual'}`,
        }),
      ),
  ];
}

interface Kind<Item> {
  label: (item: Item) => string;
  /** The part of an item that is compared. */
  essence: (item: Item) => unknown;
  describe: (before: Item, after: Item) => string;
}

function diffLists<Item extends { id: string }>(
  part: Difference['part'],
  before: readonly Item[],
  after: readonly Item[],
  { label, essence, describe }: Kind<Item>,
): Difference[] {
  const old = new Map(before.map((item) => [item.id, item]));
  const kept = new Set(after.map((item) => item.id));
  const removed = before.filter((item) => !kept.has(item.id));
  return [
    ...removed.map((item): Difference => ({ change: 'removed', part, id: item.id, summary: label(item) })),
    ...after.flatMap((item): Difference[] => {
      const was = old.get(item.id);
      if (!was) return [{ change: 'added', part, id: item.id, summary: label(item) }];
      if (same(essence(was), essence(item))) return [];
      return [{ change: 'changed', part, id: item.id, summary: `${label(item)}: ${describe(was, item)}` }];
    }),
  ];
}

function withoutPosition({ position: _, ...node }: ChainNode) {
  return node;
}

function nodeChange(before: ChainNode, after: ChainNode): string {
  const parts: string[] = [];
  if (before.kind !== after.kind) parts.push('kind');
  if (before.title !== after.title) parts.push('title');
  if (before.kind === 'nf' && after.kind === 'nf') {
    if (before.nf !== after.nf) parts.push(`${before.nf} → ${after.nf}`);
    if (before.cpu_limit !== after.cpu_limit) parts.push('CPU limit');
    const keys = new Set([...Object.keys(before.config), ...Object.keys(after.config)]);
    parts.push(...[...keys].filter((key) => !same(before.config[key], after.config[key])));
  }
  return parts.join(', ');
}

function edgeChange(before: ChainEdge, after: ChainEdge): string {
  const parts: string[] = [];
  if (before.from !== after.from || before.to !== after.to) parts.push(`was ${before.from} → ${before.to}`);
  if (!same(before.filter, after.filter)) {
    parts.push(`filter ${filterLabel(before.filter) || 'everything'} → ${filterLabel(after.filter) || 'everything'}`);
  }
  if (before.rate_bps !== after.rate_bps) parts.push('rate');
  return parts.join(', ');
}

function classChange(before: ChainDefinition, after: ChainDefinition): string {
  const names = { from: 'hosts', match: 'match', rate_bps: 'rate', packet_bytes: 'packet length' } as const;
  const changed = (Object.keys(names) as (keyof typeof names)[]).filter(
    (key) => !same(before.traffic_class[key], after.traffic_class[key]),
  );
  return `traffic class: ${changed.map((key) => names[key]).join(', ')}`;
}

/** An edge in words: `IDS → Firewall (safe · TCP)`. */
export function edgeLabel(definition: ChainDefinition, edge: ChainEdge): string {
  const end = (id: string) => {
    const node = nodeOf(definition, id);
    return node ? nodeLabel(node) : id;
  };
  const filter = filterLabel(edge.filter);
  return `${end(edge.from)} → ${end(edge.to)}${filter ? ` (${filter})` : ''}`;
}

/** Equality of JSON values, whatever the order of keys. */
export function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...keys].every((key) => same(left[key], right[key]));
}
