import type { GraphNode, Infrastructure, Plan, ScheduleForm } from '@orrery/contract';
import { expect, it } from 'vitest';
import { coreTreeKey, coreTrees } from './core-trees.js';

const at = { server: 'server-1', core: 1, load_bps: 0 };
const queue = (id: string, tasks: string[]) =>
  ({ kind: 'queue', id, chain_id: 'ch-1', tasks, ...at, core_share: 0 }) as GraphNode;
const task = (id: string, modules: string[], useful: number, idle = 0) => ({
  id,
  modules,
  classes: [`web.${id}`],
  useful_cycles_per_second: useful,
  idle_cycles_per_second: idle,
  overhead_cycles_per_second: 0,
});
const place = { weight: null, level: null };
const plan = {
  graph: {
    nodes: [
      queue('web.q1', ['t1']),
      queue('web.q2', ['t2', 't3']),
      { kind: 'nf', id: 'dns.mon.0', chain_id: 'ch-2', ...at, core_share: 0.05 },
    ],
    edges: [],
  },
  schedules: [
    {
      chain_id: 'ch-1',
      tasks: [task('t1', ['ids'], 3e8, 1e8), task('t2', ['nat'], 1e8), task('t3', ['nat', 'mon'], 1e8)],
    } as unknown as ScheduleForm,
  ],
  nodes: {
    'server-1': {
      schedulers: [
        {
          core: 1,
          tree: [
            { kind: 'weighted-fair', id: 'root', parent: null, ...place, when_idle: 'yield' },
            { kind: 'priority', id: 'root.0', parent: 'root', weight: 3, level: null },
            { kind: 'task', id: 'root.0.0', parent: 'root.0', weight: null, level: 1, starts_at: 'web.q1' },
            { kind: 'task', id: 'root.0.1', parent: 'root.0', weight: null, level: 0, starts_at: 'web.q2' },
            { kind: 'round-robin', id: 'root.1', parent: 'root', weight: 1, level: null },
            { kind: 'task', id: 'root.1.0', parent: 'root.1', ...place, starts_at: 'dns.mon.0' },
          ],
        },
        { core: 3, tree: [{ kind: 'round-robin', id: 'root', parent: null, ...place }] },
      ],
    },
  },
} as unknown as Plan;
const infrastructure = { servers: [{ id: 'server-1', ghz: 1 }] } as Infrastructure;

it('lists what each core of the chain serves, in the order of service, with the planned share of the core', () => {
  const trees = coreTrees(plan, 'ch-1', infrastructure);
  expect(trees.map(({ server, core }) => `${server} ${core}`)).toEqual(['server-1 1']);
  expect(
    trees[0]!.rows.map(({ id, depth, label, planned, share, isForeign }) => [
      id,
      depth,
      label,
      Number(planned.toFixed(3)),
      share,
      isForeign,
    ]),
  ).toEqual([
    ['root', 0, 'by weight', 0.65, null, false],
    ['root.0', 1, 'by priority', 0.6, 0.75, false],
    ['root.0.1', 2, 'nat, mon', 0.2, null, false],
    ['root.0.0', 2, 'ids', 0.4, null, false],
    ['root.1', 1, 'in turn', 0.05, 0.25, true],
    ['root.1.0', 2, 'dns.mon.0', 0.05, null, true],
  ]);
});

it('tells tasks with the same NFs apart by their classes', () => {
  const [tree] = coreTrees(plan, 'ch-1', null);
  expect(tree!.rows.map(({ classes }) => classes)).toEqual([[], [], ['web.t2', 'web.t3'], ['web.t1'], [], []]);
});

it('names the samples of a row as the server does', () => {
  const [tree] = coreTrees(plan, 'ch-1', null);
  expect(coreTreeKey(tree!, tree!.rows[2]!, 'cpu')).toBe('scheduler/server-1 1 root.0.1/cpu');
});
