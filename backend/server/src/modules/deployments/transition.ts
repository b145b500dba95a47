import { isDeepStrictEqual } from 'node:util';
import type { FabricSpec, NodeSpec } from '@orrery/contract';

/** Desired state without generations: those are given out when it is stored. */
type Nodes = Readonly<Record<string, NodeSpec>>;

/**
 * The ways from what runs to what a plan wants, so that traffic never points at something that is not there:
 * `prepare` adds what is new beside what runs, `steer` (fabric) leads new traffic to it while the old hops stay valid,
 * `switch` turns instances that stay to their new outputs, `clean` drops what nothing points at any more, `settle`
 * (fabric) forgets the old hops.
 */
export const PHASES = ['prepare', 'steer', 'switch', 'clean', 'settle', 'settled'] as const;
export type Phase = (typeof PHASES)[number];

/** What runs, and beside it everything new of the plan; instances in both stay as they are. */
export function preparedNodes(running: Nodes, wanted: Nodes): Nodes {
  return mapNodes(running, wanted, (old, next) => ({
    ...next,
    instances: [...old.instances, ...without(next.instances, old.instances, (each) => each.id)],
    hops: [...old.hops, ...without(next.hops, old.hops, (each) => each.hop)],
    exits: [...old.exits, ...without(next.exits, old.exits, (each) => each.exit_id)],
  }));
}

/** The plan, and beside it everything that ran; instances in both are as the plan wants them. */
export function switchedNodes(running: Nodes, wanted: Nodes): Nodes {
  return mapNodes(running, wanted, (old, next) => ({
    ...next,
    instances: [...next.instances, ...without(old.instances, next.instances, (each) => each.id)],
    hops: [...next.hops, ...without(old.hops, next.hops, (each) => each.hop)],
    exits: [...next.exits, ...without(old.exits, next.exits, (each) => each.exit_id)],
  }));
}

/** The plan alone; servers of which it says nothing become empty. */
export function cleanedNodes(running: Nodes, wanted: Nodes): Nodes {
  return mapNodes(running, wanted, (_old, next) => next);
}

/** The plan's rules and the hops and returns that may still carry packets. */
export function steeredFabric(running: FabricSpec, wanted: FabricSpec): FabricSpec {
  const kept = running.rules.filter(({ kind }) => kind !== 'classify');
  return { ...wanted, rules: [...wanted.rules, ...without(kept, wanted.rules, ruleIdentity)] };
}

function ruleIdentity(rule: FabricSpec['rules'][number]): string {
  return rule.kind === 'hop' ? `hop ${rule.hop}` : rule.id;
}

function mapNodes(running: Nodes, wanted: Nodes, combine: (old: NodeSpec, next: NodeSpec) => NodeSpec): Nodes {
  const result: Record<string, NodeSpec> = {};
  for (const name of new Set([...Object.keys(running), ...Object.keys(wanted)])) {
    const template = (wanted[name] ?? running[name])!;
    const empty: NodeSpec = { ...template, instances: [], hops: [], exits: [] };
    result[name] = combine(running[name] ?? empty, wanted[name] ?? empty);
  }
  return result;
}

function without<T>(items: readonly T[], known: readonly T[], identity: (item: T) => unknown): T[] {
  const identities = new Set(known.map(identity));
  return items.filter((item) => !identities.has(identity(item)));
}

/** `next` with a newer generation where it differs from `before`, which keeps its own elsewhere. */
export function numbered<S extends NodeSpec | FabricSpec>(before: S | undefined, next: S, generation: number): S {
  if (before && sameContent(before, next)) return before;
  return { ...next, generation };
}

function sameContent(a: NodeSpec | FabricSpec, b: NodeSpec | FabricSpec): boolean {
  return isDeepStrictEqual({ ...a, generation: 0 }, { ...b, generation: 0 });
}

export function isEmptyNode(spec: NodeSpec): boolean {
  return spec.instances.length === 0 && spec.hops.length === 0 && spec.exits.length === 0;
}
