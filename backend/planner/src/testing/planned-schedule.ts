import type { CoreScheduler, Infrastructure, NfDescriptor, NodeSpec, Plan, Target } from '@orrery/contract';
import { expect } from 'vitest';
import { costOnCore } from '../check/assigned-implementation.js';
import { GATE, QUEUE } from '../engine-costs.js';
import { placedNodes } from '../igraph/graph.js';
import { cyclesPerPacket } from '../igraph/sizing.js';
import { settle } from '../schedule/fluid.js';

/** What begins at a queue, as the node specs say it. */
interface Task {
  readonly queue: string;
  readonly server: string;
  readonly core: number;
  readonly nfs: Set<string>;
  /** Queues that it fills, each with packets per second. */
  readonly fills: Map<string, number>;
  /** Cycles per second of NFs and outputs for all that is offered. */
  work: number;
  pps: number;
}

/**
 * Graph, node specs and prediction of a chain with a planned schedule say the same: tasks are carried out from the specs
 * alone, and their share of each core is worked out from the trees alone.
 */
export function checkPlannedSchedule(
  plan: Plan,
  chainId: string,
  catalogue: readonly NfDescriptor[],
  { servers }: Infrastructure,
): { queues: number; workers: number } {
  const form = plan.schedules.find(({ chain_id }) => chain_id === chainId)!;
  const queues = plan.graph.nodes
    .filter((node) => node.kind === 'queue')
    .filter(({ chain_id }) => chain_id === chainId);
  expect(queues.flatMap(({ tasks }) => tasks).sort()).toEqual(form.tasks.map(({ id }) => id).sort());
  for (const spec of Object.values(plan.nodes)) for (const scheduler of spec.schedulers ?? []) checkTree(scheduler);

  const cores = new Map<string, CoreScheduler>();
  for (const [server, { schedulers = [] }] of Object.entries(plan.nodes))
    for (const scheduler of schedulers) cores.set(`${server}/${scheduler.core}`, scheduler);
  const used = new Set(queues.map(({ server, core }) => `${server}/${core}`));
  expect(new Set(cores.keys())).toEqual(used);
  for (const [key, { tree }] of cores) {
    const leaves = tree.flatMap((node) => (node.kind === 'task' ? [node.starts_at] : [])).sort();
    const here = placedNodes(plan.graph).filter(({ server, core }) => `${server}/${core}` === key);
    const start = here.filter(({ kind, chain_id }) => (chain_id === chainId ? kind === 'queue' : true));
    expect(leaves).toEqual(start.map(({ id }) => id).sort());
  }

  const { packet_bytes } = plan.chains.find(({ chain_id }) => chain_id === chainId)!.definition.traffic_class;
  const tasks = walk(plan, chainId, catalogue);
  expect([...tasks.keys()].sort()).toEqual(queues.map(({ id }) => id).sort());
  for (const { id, tasks: names } of queues) {
    const modules = form.tasks.filter((it) => names.includes(it.id)).flatMap((it) => it.modules);
    expect(tasks.get(id)!.nfs).toEqual(new Set(modules.filter((name) => !name.startsWith('output '))));
  }

  const useful = usefulCycles([...tasks.values()]);
  for (const { id, tasks: names } of queues) {
    const told = form.tasks.filter((it) => names.includes(it.id));
    const sum = told.reduce((all, it) => all + it.useful_cycles_per_second + it.overhead_cycles_per_second, 0);
    expect(Math.abs(useful.get(id)! - sum)).toBeLessThan(1e-4 * Math.max(sum, 1e3));
  }
  return { queues: queues.length, workers: used.size };

  /** What each task spends once priorities and shares have settled. */
  function usefulCycles(all: readonly Task[]): Map<string, number> {
    const order = upstreamFirst(all);
    const keys = [...used];
    const places = order.map(({ queue, server, core }) => placeIn(cores.get(`${server}/${core}`)!, queue));
    const upstream = order.map(({ queue }) => order.findIndex(({ fills }) => fills.has(queue)));
    const levels = levelsOf(order, upstream, cores);
    const booked = (key: string) =>
      placedNodes(plan.graph)
        .filter((it) => `${it.server}/${it.core}` === key && it.chain_id !== chainId)
        .reduce((sum, { core_share }) => sum + core_share, 0);
    const hz = keys.map((key) => 1e9 * servers.find(({ id }) => id === key.slice(0, key.lastIndexOf('/')))!.ghz);
    const available = Float64Array.from(keys, (key, w) => hz[w]! * Math.max(0.05, 1 - booked(key)));
    const limit = available.map((cycles, w) => Math.min(cycles, hz[w]! * coreTimeOf(cores.get(keys[w]!)!)));
    const shapes = order.map(({ work, pps }, i) => {
      const overhead = upstream[i]! >= 0 ? pps * cyclesPerPacket(QUEUE, packet_bytes) : 0;
      return {
        head: i,
        nodes: [],
        upstream: upstream[i]!,
        level: levels[i]!,
        service: places[i]!.weight / (work + overhead),
        work,
        overhead,
        rate_pps: pps,
      };
    });
    const flow = settle({
      tasks: shapes,
      worker: Int32Array.from(order, ({ server, core }) => keys.indexOf(`${server}/${core}`)),
      workers: keys.length,
      available,
      limit,
      levels: Math.max(...levels) + 1,
      polls: places.some(({ polls }) => polls),
    });
    return new Map(
      order.map(({ queue }, i) => [queue, flow.useful[i]! * (shapes[i]!.work + shapes[i]!.overhead)] as const),
    );
  }
}

function upstreamFirst(tasks: readonly Task[]): Task[] {
  const open = new Map(tasks.map((task) => [task.queue, task]));
  const order: Task[] = [];
  while (open.size > 0) {
    const next = [...open.values()].find(({ queue }) => ![...open.values()].some(({ fills }) => fills.has(queue)));
    if (!next) throw new Error('tasks fill each other in a circle');
    order.push(next);
    open.delete(next.queue);
  }
  return order;
}

/**
 * When the model may settle each task. A core that serves all of its tasks alike has no priorities of its own: they wait for
 * what reaches them.
 */
function levelsOf(
  order: readonly Task[],
  upstream: readonly number[],
  cores: ReadonlyMap<string, CoreScheduler>,
): number[] {
  const keyOf = ({ server, core }: Task) => `${server}/${core}`;
  const levels = order.map((task) => placeIn(cores.get(keyOf(task))!, task.queue).level);
  const alike = (task: Task) => !cores.get(keyOf(task))!.tree.some(({ kind }) => kind === 'priority');
  for (const _ of order) {
    for (const key of new Set(order.filter(alike).map(keyOf))) {
      const mine = [...order.keys()].filter((i) => keyOf(order[i]!) === key);
      const latest = Math.max(...mine.map((i) => (upstream[i]! < 0 ? 0 : levels[upstream[i]!]!)));
      for (const i of mine) levels[i] = Math.max(levels[i]!, latest);
    }
  }
  return levels;
}

function placeIn({ tree }: CoreScheduler, queue: string): { level: number; weight: number; polls: boolean } {
  const byId = new Map(tree.map((node) => [node.id, node]));
  const leaf = tree.find((node) => node.kind === 'task' && node.starts_at === queue)!;
  const above = leaf.parent === null ? null : byId.get(leaf.parent)!;
  let level = 0;
  for (let at = leaf; ; at = byId.get(at.parent)!) {
    if (at.level !== null) level = at.level;
    if (at.parent === null) break;
  }
  return {
    level,
    weight: leaf.weight ?? 1,
    polls: above?.kind === 'weighted-fair' && above.when_idle === 'poll',
  };
}

/** Part of the core that its tasks may take together. */
function coreTimeOf({ tree }: CoreScheduler): number {
  const limits = tree.flatMap((node) => {
    if (node.kind !== 'rate-limit') return [];
    expect(node.resource).toBe('core-time');
    return [node.per_second];
  });
  return Math.min(...limits, 1);
}

function checkTree({ tree }: CoreScheduler): void {
  const kinds = new Map<string, (typeof tree)[number]['kind']>();
  tree.forEach(({ id, parent, kind, weight, level }, i) => {
    expect(parent === null).toBe(i === 0);
    const above = parent === null ? undefined : kinds.get(parent);
    expect(parent === null || (above !== undefined && above !== 'task')).toBe(true);
    expect(weight !== null).toBe(above === 'weighted-fair');
    expect(level !== null).toBe(above === 'priority');
    expect(kinds.has(id)).toBe(false);
    kinds.set(id, kind);
  });
  for (const node of tree) {
    const { id, kind } = node;
    const children = tree.filter(({ parent }) => parent === id);
    const polls = kind === 'weighted-fair' && node.when_idle === 'poll';
    if (kind === 'task') expect(children).toEqual([]);
    else
      expect(children.length).toBeGreaterThanOrEqual(kind === 'rate-limit' || kind === 'round-robin' || polls ? 1 : 2);
  }
}

/** Carries out every task from its queue to the next queues or the exit; by queue. */
function walk(plan: Plan, chainId: string, catalogue: readonly NfDescriptor[]): Map<string, Task> {
  const { definition } = plan.chains.find(({ chain_id }) => chain_id === chainId)!;
  const bytes = definition.traffic_class.packet_bytes;
  const nodes = new Map(plan.graph.nodes.map((node) => [node.id, node]));
  const entered = new Map<string, number>();
  for (const { to, direction, rate_bps } of plan.graph.edges)
    if (direction === 'forward') entered.set(to, (entered.get(to) ?? 0) + rate_bps / (8 * bytes));
  const rateOf = new Map(
    plan.graph.edges.map((edge) => [`${edge.from} ${edge.pgraph_edge}`, edge.rate_bps / (8 * bytes)]),
  );
  const tasks = new Map<string, Task>();
  for (const [server, spec] of Object.entries(plan.nodes))
    for (const module of spec.modules ?? []) {
      if (module.kind !== 'queue' || module.chain_id !== chainId) continue;
      expect(nodes.get(module.id)).toMatchObject({ kind: 'queue', server, core: module.core });
      const pps = entered.get(module.id)!;
      const task: Task = {
        queue: module.id,
        server,
        core: module.core,
        nfs: new Set(),
        fills: new Map(),
        work: 0,
        pps,
      };
      tasks.set(module.id, task);
      if (!module.id.endsWith('-nf')) task.work += pps * cyclesPerPacket(GATE, bytes);
      follow(task, spec, server, module.outputs[0]!.targets[0]!.to, pps, true);
    }
  return tasks;

  function follow(task: Task, spec: NodeSpec, server: string, to: Target, pps: number, counted: boolean): void {
    if (to.kind === 'exit') {
      if (!counted) task.work += pps * cyclesPerPacket(GATE, bytes);
      return;
    }
    const id = to.kind === 'hop' ? across(to.hop) : to.instance_id;
    const node = nodes.get(id)!;
    if (node.kind === 'queue') {
      if (!counted && id.endsWith('-nf')) task.work += pps * cyclesPerPacket(GATE, bytes);
      task.fills.set(id, (task.fills.get(id) ?? 0) + pps);
      return;
    }
    // What is not queued runs on, so it is on the same core.
    expect(to.kind).toBe('instance');
    const instance = spec.instances.find((it) => it.id === id)!;
    expect(instance).toMatchObject({ queued: false, core: task.core });
    if (!counted) task.work += pps * cyclesPerPacket(GATE, bytes);
    const descriptor = catalogue.find((it) => it.id === instance.nf)!;
    task.work += pps * cyclesPerPacket(costOnCore(descriptor, instance.driver), bytes);
    task.nfs.add(instance.node_id);
    for (const { edge_id, targets } of instance.outputs) {
      const share = rateOf.get(`${id} ${edge_id}`)! / entered.get(id)!;
      follow(task, spec, server, targets[0]!.to, pps * share, false);
    }
  }

  function across(hop: number): string {
    const rule = plan.fabric.rules.find((it) => it.kind === 'hop' && it.hop === hop)!;
    return plan.nodes[rule.targets[0]!.server]!.hops.find((it) => it.hop === hop)!.instance_id;
  }
}
