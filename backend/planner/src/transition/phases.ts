import type { FabricSpec, NodeSpec, PlanStep } from '@orrery/contract';
import { sameFabric, sameNode } from './same-spec.js';

/** Desired state of every server that runs something now or in the plan. */
export type Nodes = Readonly<Record<string, NodeSpec>>;

/**
 * The phases from what runs to a plan, ordered so that traffic is never steered to something that does not exist:
 * `prepare` adds new instances alongside the old, `extend` (fabric) makes every switch forward to their hops, `steer` (fabric)
 * steers new traffic to them while old hops stay valid,
 * `switch` gives remaining instances their new outputs and settings, `clean` removes what is no longer referenced,
 * `settle` (fabric) removes the old hops.
 */
export const PHASES = ['prepare', 'extend', 'steer', 'switch', 'clean', 'settle', 'settled'] as const;
export type Phase = (typeof PHASES)[number];
export type NodePhase = 'prepare' | 'switch' | 'clean';
export const FABRIC_PHASES = ['extend', 'steer', 'settle'] as const;
export type FabricPhase = (typeof FABRIC_PHASES)[number];

export const STEP_KIND: Readonly<Record<NodePhase | FabricPhase, PlanStep['kind']>> = {
  prepare: 'prepare-node',
  extend: 'extend-fabric',
  steer: 'steer-fabric',
  switch: 'switch-node',
  clean: 'clean-node',
  settle: 'settle-fabric',
};

/** The steps that a phase carries out: other drivers of switches come with the rules that are lowered to them. */
export function stepKindsOf(phase: NodePhase | FabricPhase): readonly PlanStep['kind'][] {
  return phase === 'steer' ? ['change-driver', 'steer-fabric'] : [STEP_KIND[phase]];
}

export function isFabricPhase(phase: Phase): phase is FabricPhase {
  return (FABRIC_PHASES as readonly Phase[]).includes(phase);
}

/**
 * What nodes are told in a phase; one whose content stays the same is the very object that it was. Of `abandoned`
 * instances nothing is left to wait for: a node that has one drops it first, and what stays there turns away from it.
 */
export function nodesIn(
  phase: NodePhase,
  running: Nodes,
  wanted: Nodes,
  abandoned: ReadonlySet<string> = new Set(),
): Nodes {
  const combine = { prepare: prepared, switch: switched, clean: (_old: NodeSpec, next: NodeSpec) => next }[phase];
  const combineAnew = phase === 'prepare' ? switched : combine;
  const result: Record<string, NodeSpec> = {};
  for (const name of new Set([...Object.keys(running), ...Object.keys(wanted)])) {
    const before = running[name];
    if (before && before === wanted[name] && !before.instances.some(({ id }) => abandoned.has(id))) {
      result[name] = before;
      continue;
    }
    const template = (wanted[name] ?? before)!;
    const empty: NodeSpec = {
      ...template,
      instances: [],
      modules: undefined,
      schedulers: undefined,
      hops: [],
      exits: [],
    };
    const old = before ?? empty;
    const left = withoutInstances(old, abandoned);
    const after = (left === old ? combine : combineAnew)(left, wanted[name] ?? empty);
    result[name] = before && sameNode(before, after) ? before : after;
  }
  return result;
}

/** Desired state of the fabric in a phase; the same object if unchanged. `exists`: whether a server is still there. */
export function fabricIn(
  phase: FabricPhase,
  running: FabricSpec,
  wanted: FabricSpec,
  exists: (server: string) => boolean,
): FabricSpec {
  const after = { extend: extended, steer: steered, settle: (_old: FabricSpec, next: FabricSpec) => next }[phase](
    running,
    wanted,
    exists,
  );
  return sameFabric(running, after) ? running : after;
}

/** What runs plus everything new in the plan; instances in both are unchanged. */
function prepared(old: NodeSpec, next: NodeSpec): NodeSpec {
  return union(next, old, next);
}

/** The plan plus everything that ran; instances in both are as in the plan. */
function switched(old: NodeSpec, next: NodeSpec): NodeSpec {
  return union(next, next, old);
}

function withoutInstances(spec: NodeSpec, gone: ReadonlySet<string>): NodeSpec {
  if (!spec.instances.some(({ id }) => gone.has(id))) return spec;
  return {
    ...spec,
    instances: spec.instances.filter(({ id }) => !gone.has(id)),
    hops: spec.hops.filter(({ instance_id }) => !gone.has(instance_id)),
  };
}

/** Of what both have, the first's. */
function union(template: NodeSpec, first: NodeSpec, second: NodeSpec): NodeSpec {
  return {
    ...template,
    instances: [...first.instances, ...without(second.instances, first.instances, ({ id }) => id)],
    ...(first.modules || second.modules ? { modules: both(first.modules, second.modules) } : {}),
    hops: [...first.hops, ...without(second.hops, first.hops, ({ hop }) => hop)],
    exits: [...first.exits, ...without(second.exits, first.exits, ({ exit_id }) => exit_id)],
  };
}

function both<T extends { readonly id: string }>(first: T[] = [], second: T[] = []): T[] {
  return [...first, ...without(second, first, ({ id }) => id)];
}

/**
 * What runs, and the new hops of the plan. Switches change one after the other: all must know a hop before one of them
 * tags packets for it. A class that enters at a removed server, which no switch can be told, is already as in the plan.
 */
function extended(running: FabricSpec, wanted: FabricSpec, exists: (server: string) => boolean): FabricSpec {
  const planned = new Map(wanted.rules.map((rule) => [rule.id, rule]));
  const kept = running.rules.flatMap((rule) =>
    rule.kind !== 'classify' || rule.targets.every(({ server }) => exists(server))
      ? rule
      : (planned.get(rule.id) ?? []),
  );
  const hops = wanted.rules.filter(isOfTag);
  return { ...wanted, rules: unionOfRules(kept, hops) };
}

/** The plan's rules and the hops and returns that may still carry packets. Guards come and go with their classes. */
function steered(running: FabricSpec, wanted: FabricSpec): FabricSpec {
  const kept = running.rules.filter((rule) => isOfTag(rule) || rule.kind === 'return');
  return { ...wanted, rules: unionOfRules(wanted.rules, kept) };
}

/** Of what both have, the first's; a hop with the senders of both. */
function unionOfRules(first: FabricSpec['rules'], second: FabricSpec['rules']): FabricSpec['rules'] {
  const senders = new Map(second.map(({ hop, from_servers }) => [hop, from_servers]));
  const joined = first.map((rule) => {
    const more = isOfTag(rule) ? (senders.get(rule.hop) ?? []) : [];
    return more.every((server) => rule.from_servers.includes(server))
      ? rule
      : { ...rule, from_servers: [...new Set([...rule.from_servers, ...more])].sort() };
  });
  return [...joined, ...without(second, first, ruleIdentity)];
}

/** Whether the rule takes packets by their tag. */
function isOfTag({ kind }: FabricSpec['rules'][number]): boolean {
  return kind === 'hop' || kind === 'mirror';
}

function ruleIdentity(rule: FabricSpec['rules'][number]): string {
  return isOfTag(rule) ? `hop ${rule.hop}` : rule.id;
}

function without<T>(items: readonly T[], known: readonly T[], identity: (item: T) => unknown): T[] {
  const identities = new Set(known.map(identity));
  return items.filter((item) => !identities.has(identity(item)));
}

export function isEmptyNode(spec: NodeSpec): boolean {
  return spec.instances.length === 0 && spec.hops.length === 0 && spec.exits.length === 0;
}
