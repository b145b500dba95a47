import {
  type CoreScheduler,
  type EngineAbility,
  isAtSwitch,
  type NodeSpec,
  type Plan,
  type SchedulerNode as SchedulerVertex,
} from '@orrery/contract';
import { grouped } from '../grouped.js';
import { placedNodes } from '../igraph/graph.js';
import type { SchedulerNode } from '../schedule/problem.js';
import type { PlannedSchedule } from '../schedule/task-queues.js';
import { coreKey } from '../slo/placed.js';
import type { LoweringInput } from './input.js';

/** A scheduler tree whose tasks are named by where they start. */
type Tree =
  | { readonly kind: 'task'; readonly starts_at: string }
  | { readonly kind: 'round-robin'; readonly children: readonly Below[] }
  | { readonly kind: 'priority'; readonly children: readonly Below[] }
  | { readonly kind: 'weighted-fair'; readonly when_idle: 'poll' | 'yield'; readonly children: readonly Below[] }
  | {
      readonly kind: 'rate-limit';
      readonly resource: 'core-time';
      readonly per_second: number;
      readonly children: readonly Below[];
    };

interface Below {
  readonly weight?: number;
  readonly level?: number;
  readonly node: Tree;
}

/** A chain without load still gets a share. */
const LEAST_WEIGHT = 1e-9;

/**
 * How each core with a planned schedule shares its time, by server: chains by what they have booked, the tasks of a chain
 * as its schedule says, and those of all chains without one in turn.
 */
export function coreSchedulers({
  graph,
  schedules,
  infrastructure,
}: Pick<LoweringInput, 'graph' | 'schedules' | 'infrastructure'>) {
  const hzOf = new Map(infrastructure.servers.map(({ id, ghz }) => [id, ghz * 1e9]));
  const planned = new Set(schedules.map(({ chain }) => chain.chain_id));
  const byCore = grouped(
    placedNodes(graph).filter((node) => node.kind !== 'nf' || !isAtSwitch(node)),
    coreKey,
  );
  const found = new Map<string, CoreScheduler[]>();
  for (const [key, nodes] of byCore) {
    const { server, core } = nodes[0]!;
    const roots = schedules.flatMap((schedule) => {
      const worker = schedule.cores.findIndex((core) => coreKey(core) === key);
      const root = schedule.schedule.workers.find((it) => it.worker === worker)?.root;
      const own = nodes.filter(({ chain_id }) => chain_id === schedule.chain.chain_id);
      return root ? [{ weight: bookedBy(own), node: treeOf(root, schedule, hzOf.get(server)!) }] : [];
    });
    if (roots.length === 0) continue;
    const others = nodes.filter(({ chain_id }) => !planned.has(chain_id));
    const inTurn = others.map(({ id }): Below => ({ node: { kind: 'task', starts_at: id } }));
    const parts: Below[] =
      inTurn.length === 0
        ? roots
        : [...roots, { weight: bookedBy(others), node: { kind: 'round-robin', children: inTurn } }];
    const [only] = parts;
    const root: Tree = parts.length === 1 ? only!.node : { kind: 'weighted-fair', when_idle: 'yield', children: parts };
    found.set(server, [...(found.get(server) ?? []), { core, tree: flatten(root) }]);
  }
  return found;
}

/** Abilities that the schedulers need and engines lack. */
export function missingPolicies(
  nodes: Readonly<Record<string, Pick<NodeSpec, 'schedulers'>>>,
  abilities: Readonly<Record<string, readonly EngineAbility[]>>,
): Plan['conflicts'] {
  return Object.entries(nodes).flatMap(([where, { schedulers = [] }]) => {
    const needed = new Set(
      schedulers.flatMap(({ tree }) => tree.flatMap(({ kind }) => (kind === 'task' ? [] : [kind]))),
    );
    return [...needed]
      .filter((policy) => !abilities[where]?.includes(policy))
      .map((unit) => ({ constraint: 'engine-ability', needed: 1, available: 0, unit, where }) as const);
  });
}

function bookedBy(nodes: readonly { readonly core_share: number }[]): number {
  return Math.max(
    LEAST_WEIGHT,
    nodes.reduce((sum, { core_share }) => sum + core_share, 0),
  );
}

/**
 * The chain's tree with queues in the place of its tasks; tasks that share a queue have their weights together. `hz`: by which
 * the schedule counts cycles of its core. Limits are of the core's time: its engine may count by another clock.
 */
function treeOf(node: SchedulerNode, schedule: PlannedSchedule, hz: number): Tree {
  switch (node.kind) {
    case 'task':
      return { kind: 'task', starts_at: schedule.queueOf[node.task]! };
    case 'rate-limit':
      return {
        kind: 'rate-limit',
        resource: 'core-time',
        per_second: node.cycles_per_second / hz,
        children: [{ node: treeOf(node.child, schedule, hz) }],
      };
    case 'priority':
      return {
        kind: 'priority',
        children: node.children.map((child) => ({ level: child.level, node: treeOf(child.node, schedule, hz) })),
      };
    case 'weighted-fair': {
      const weights = new Map<string, number>();
      for (const child of node.children) {
        if (child.node.kind !== 'task') throw new Error('only tasks are weighted');
        const queue = schedule.queueOf[child.node.task]!;
        weights.set(queue, (weights.get(queue) ?? 0) + child.weight);
      }
      const children = [...weights].map(
        ([starts_at, weight]): Below => ({ weight, node: { kind: 'task', starts_at } }),
      );
      // A task by itself that polls shares with other workers.
      if (children.length === 1 && node.when_idle === 'yield') return children[0]!.node;
      return { kind: 'weighted-fair', when_idle: node.when_idle, children };
    }
  }
}

function flatten(root: Tree): SchedulerVertex[] {
  const out: SchedulerVertex[] = [];
  visit({ node: root }, 'root', null);
  return out;

  function visit(
    {
      node,
      weight = null,
      level = null,
    }: Omit<Below, 'weight' | 'level'> & { weight?: number | null; level?: number | null },
    id: string,
    parent: string | null,
  ): void {
    const place = { id, parent, weight, level };
    if (node.kind === 'task') {
      out.push({ kind: node.kind, ...place, starts_at: node.starts_at });
      return;
    }
    const { children, ...policy } = node;
    out.push({ ...policy, ...place });
    for (const [i, child] of children.entries()) visit(child, `${id}.${i}`, id);
  }
}
