import {
  FLOW_SPACE,
  type KeptFlowKey,
  keptFlowKey,
  MOST_EXCEPTIONS,
  type NfSplit,
  type Operation,
  type Plan,
  type StagedSplit,
} from '@orrery/contract';
import { beforeEach, expect, it } from 'vitest';
import type { ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { LoopRun } from '../../platform/control-loop/definition.js';
import type { Collections } from '../../platform/durable-collection/collections.js';
import { MOST_LOOKS, SplitHandover } from './split-handover.js';
import { handedOver, splitsAtServers } from './staged-splits.js';

const nf = { chain_id: 'c-1', node_id: 'ids' };
const HALVES = [
  { lo: 0, hi: FLOW_SPACE / 2 },
  { lo: FLOW_SPACE / 2, hi: FLOW_SPACE },
];
const flow = (port: number) => ({ 'ip.src': '10.0.1.1', 'port.src': port });
/** A switch, with its numbers of splits that have exceptions. */
const LEAF = ['leaf-1', [3]] as const;
const staged: StagedSplit = { held: [{ lo: 0, hi: FLOW_SPACE }], exceptions: [], idle_timeout_s: 5 };

/** An NF of two instances that an engine splits, or the switch. */
function planOf(id: string, at: 'engine' | 'switch', exceptions: StagedSplit['exceptions'] = []): Plan {
  const { held, ...rest } = { ...staged, exceptions };
  const split = { node_id: 'ids', ranges: HALVES, staged: at === 'engine' ? { ...rest, held } : rest };
  const front = { kind: 'split', id: 'web.e1.split', ...nf, server: 's-1', core: 0, in_front_of: 0 };
  return {
    id,
    chains: [{ chain_id: 'c-1', version: 1, splits: [split] }],
    splits: [{ ...nf, targets: HALVES.map((range, i) => ({ instance_id: `web.ids.${i}`, range })) }],
    graph: {
      nodes: [
        ...(at === 'engine' ? [front] : []),
        ...[0, 1].map((ordinal) => ({ kind: 'nf', id: `web.ids.${ordinal}`, ...nf, ordinal })),
      ],
      edges: [{ from: null, to: 'web.e1.split', hop: 7 }],
    },
    fabric: { rules: [{ kind: 'classify', id: 'classify/web.e1', targets: [{ hop: 7 }] }] },
  } as unknown as Plan;
}

const reading = (ports: readonly number[], instance_id = 'web.ids.0') => ({
  total: ports.length,
  untracked: 0,
  exceptions: ports.map((port) => ({ flow: flow(port), to: { kind: 'instance', instance_id, input: 0 } })),
});

/** What runs, and what the loop finds and does. */
let world: {
  plan: Plan;
  coming: Plan;
  queue: Pick<Operation, 'set_aside'>[];
  lease: { purpose: string; holder: string } | null;
  operations: Map<string, Pick<Operation, 'id' | 'state' | 'request'>>;
  /** Flows that the switch keeps by the exceptions that it was told; null: it does not answer. */
  kept: KeptFlowKey[] | null;
  /** Called while the engines are asked. */
  meanwhile: () => void;
  /** Plans that changes were made by are based on it. */
  base: string | null;
  asked: { id: string; splits: NfSplit[] }[];
  told: { type: string; message: string; data: Record<string, unknown> }[];
};
/** Outlives a server. */
let stored: Map<string, { id: string }>;
/** Why nothing can be stored; null: it can. */
let outage: Error | null;

function server() {
  let writes: (() => void)[] = [];
  const batch = {
    put: (_: unknown, value: { id: string }) => void writes.push(() => stored.set(value.id, value)),
    remove: (_: unknown, id: string) => void writes.push(() => stored.delete(id)),
    also: (write: (transaction: unknown) => void) => void writes.push(() => write(null)),
    onStored: (apply: () => void) => void writes.push(apply),
  };
  const collections = {
    open: () => ({
      all: () => [...stored.values()],
      get: (id: string) => stored.get(id),
      find: (id: string) => stored.get(id),
    }),
    commit: async (work: (given: typeof batch) => unknown) => {
      writes = [];
      const result = work(batch);
      if (outage) throw outage;
      for (const write of writes) write();
      return result;
    },
  } as unknown as Collections;
  let look: (run: LoopRun) => Promise<unknown> = async () => undefined;
  const loops = {
    add: ({ run }: { run: typeof look }) => {
      look = run;
      return { wake: () => undefined };
    },
  } as unknown as ControlLoops;
  const view = {
    get plan() {
      return world.plan;
    },
    get comingPlan() {
      return world.coming;
    },
    deployment: () => ({ version: 1 }),
  };
  const deployer = {
    underWay: () => world.queue,
    change: async (
      { chains }: { chains: { splits: NfSplit[] }[] },
      { id }: { id: string },
      refusal: (plan: Plan) => string | null = () => null,
    ) => {
      const why = refusal({ base_plan: world.base } as Plan);
      if (why !== null) throw new Error(why);
      world.asked.push({ id, splits: chains[0]!.splits });
      const operation = { id, state: 'PROCESSING', request: { chains: [{ chain_id: 'c-1', ...chains[0] }] } };
      world.operations.set(id, operation as unknown as Operation);
      return operation;
    },
  };
  const fleet = {
    call: async () => {
      world.meanwhile();
      return reading([1, 2]);
    },
  };
  const append = (event: (typeof world.told)[number]) => void world.told.push(event);
  const events = { append, appendIn: (_: unknown, event: (typeof world.told)[number]) => append(event) };
  const operations = { get: async (id: string) => world.operations.get(id) ?? null };
  const leases = { conflictOf: () => world.lease };
  const fabric = {
    withExceptions: (rules: ReadonlySet<string>) => new Map(rules.has('classify/web.e1') ? [LEAF] : []),
  };
  const switches = {
    kept: async (id: string, split: number) => {
      if (world.kept === null || id !== 'leaf-1' || split !== 3) throw new Error('it is away');
      return world.kept;
    },
  };
  const parts = [loops, collections, view, deployer, fleet, events, operations, leases, fabric, switches];
  const handover = new SplitHandover(...(parts as unknown as ConstructorParameters<typeof SplitHandover>));
  const run = {
    signal: new AbortController().signal,
    step: (work: Promise<unknown>) => work,
    decide: () => undefined,
  } as unknown as LoopRun;
  return Object.assign(() => look(run), { handover });
}

beforeEach(() => {
  const plan = planOf('pn-1', 'engine');
  world = {
    ...{ plan, coming: plan, queue: [], lease: null, operations: new Map(), kept: [], meanwhile: () => undefined },
    ...{ base: 'pn-1', asked: [], told: [] },
  };
  stored = new Map();
  outage = null;
});
const waits = () => world.told.filter(({ type }) => type === 'split.handover-waits').map(({ message }) => message);

it('leaves what was deployed while the engines were asked', async () => {
  const look = server();
  world.meanwhile = () => {
    world.coming = planOf('pn-2', 'engine');
  };
  await look();
  expect(world.asked).toEqual([]);
  // Also what is accepted after that, on which the change would be planned.
  world.coming = world.plan;
  world.meanwhile = () => undefined;
  world.base = 'pn-2';
  await expect(look()).rejects.toThrow('something else was deployed meanwhile');
  expect(world.asked).toEqual([]);
  world.base = 'pn-1';
  await look();
  expect(world.asked).toMatchObject([{ splits: [{ staged: { exceptions: [{ ordinal: 0 }, { ordinal: 0 }] } }] }]);
});

it('is not held up by an operation that is set aside, and waits for its own', async () => {
  const look = server();
  world.queue = [{ set_aside: null }];
  await look();
  expect(world.asked).toEqual([]);
  world.queue = [{ set_aside: {} as Operation['set_aside'] }];
  await look();
  expect(world.asked).toHaveLength(1);
  await look();
  expect(world.asked).toHaveLength(1);
  expect(waits()).toEqual([expect.stringContaining(`operation ${world.asked[0]!.id} is set aside`)]);
});

it('begins with the split after the one that held it up, so that a hung engine does not keep it from the others', async () => {
  const { chains, splits, graph, ...rest } = planOf('pn-1', 'engine');
  const other = { chain_id: 'c-2', node_id: 'ids' };
  const plan = {
    ...{ ...rest, chains: [...chains, { ...chains[0]!, chain_id: 'c-2' }] },
    splits: [...splits, { ...splits[0]!, ...other }],
    graph: { ...graph, nodes: [...graph.nodes, ...graph.nodes.map((node) => ({ ...node, ...other }))] },
  } as unknown as Plan;
  Object.assign(world, { plan, coming: plan });
  const look = server();
  outage = new Error('the store is away');
  await expect(look()).rejects.toThrow('the store is away');
  outage = null;
  await look();
  const staged = world.told.filter(({ type }) => type === 'split.staged');
  expect(staged).toMatchObject([{ subject: 'c-2' }, { subject: 'c-1' }]);
});

it('waits while somebody changes the chain', async () => {
  const look = server();
  world.lease = { purpose: 'scaling', holder: 'sc-1' };
  await look();
  expect(world.asked).toEqual([]);
  expect(waits()).toEqual(['The hand-over of the split of ids waits: the scaling sc-1 is under way']);
});

it('is told with what the switch got, also where the server died before it knew what it had asked for', async () => {
  await server()();
  const [{ id }] = world.asked as [(typeof world.asked)[number]];
  for (const entry of stored.values()) stored.set(entry.id, { ...entry, asked: null } as { id: string });
  world.operations.set(id, { ...world.operations.get(id)!, state: 'COMPLETED' });
  world.plan = planOf('pn-2', 'switch');
  world.coming = world.plan;
  await server()();
  expect(world.told.filter(({ type }) => type === 'split.handed-over')).toMatchObject([
    {
      message: 'The switch has taken over the split of ids, with 2 flows kept elsewhere until they end',
      data: { exceptions: 2, operation_id: id },
    },
  ]);
  expect(stored.size).toBe(0);
});

it('is given up after so many looks, and goes on where it is tried again', async () => {
  const look = server();
  world.lease = { purpose: 'scaling', holder: 'sc-1' };
  await look();
  await expect(look.handover.retry('c-1', 'ids')).rejects.toThrow('It was not given up');
  for (let looks = 1; looks < MOST_LOOKS - 1; looks++) await look();
  const why = 'the scaling sc-1 is under way';
  // Nobody hears that it was given up before that is stored.
  outage = new Error('Redis is away');
  await expect(look()).rejects.toThrow('Redis is away');
  expect(look.handover.progressOf('c-1', 'ids')).toEqual({ looks: MOST_LOOKS - 1, why, given_up: false });
  outage = null;
  await look();
  expect(waits().at(-1)).toBe(`The split of ids stays at the engine: ${why}`);
  expect(stored.get('c-1/ids')).toMatchObject({ looks: MOST_LOOKS, given_up: true });
  expect(look.handover.progressOf('c-1', 'ids')).toEqual({ looks: MOST_LOOKS, why, given_up: true });
  world.lease = null;
  await look();
  expect(world.asked).toEqual([]);
  expect(await look.handover.retry('c-1', 'ids')).toEqual({ looks: 0, why: null, given_up: false });
  await look();
  expect(world.asked).toHaveLength(1);
});

it('carries on only exceptions of an earlier hand-over that the switch still keeps, and waits to know', async () => {
  const [ended, live] = [8, 9].map((port) => ({ flow: flow(port), ordinal: 1 }));
  world.plan = planOf('pn-1', 'engine', [ended!, live!]);
  world.coming = world.plan;
  world.kept = null;
  const look = server();
  await look();
  expect(world.asked).toEqual([]);
  expect(waits()).toEqual([expect.stringContaining('leaf-1 does not tell which flows it keeps: it is away')]);
  world.kept = [keptFlowKey(live!.flow)];
  await look();
  const exceptions = [live, { flow: flow(1), ordinal: 0 }, { flow: flow(2), ordinal: 0 }];
  expect(world.asked).toMatchObject([{ splits: [{ staged: { exceptions } }] }]);
});

it('leaves no flow out: it says which it could not name, and how many are too many', () => {
  const { graph } = world.plan;
  const [split] = splitsAtServers(world.plan);
  const of = (ports: readonly number[], instance?: string) => new Map([['web.e1.split', reading(ports, instance)]]);
  type Readings = Parameters<typeof handedOver>[1];
  const unknown = handedOver(split!, of([1], 'web.ids.7') as unknown as Readings, [], graph);
  expect(unknown).toBe('web.e1.split keeps a flow at web.ids.7, which is no instance of ids');
  const exceptions = Array.from({ length: MOST_EXCEPTIONS }, (_, port) => ({ flow: flow(port), ordinal: 0 }));
  const full = { ...split!, staged: { ...split!.staged, exceptions } };
  const kept = exceptions.map((it) => keptFlowKey(it.flow));
  expect(typeof handedOver(full, of([1]) as unknown as Readings, kept, graph)).toBe('object');
  const more = handedOver(full, of([MOST_EXCEPTIONS]) as unknown as Readings, kept, graph);
  expect(more).toBe('the switch would have to keep 2049 flows, more than 2048');
});

it('tells what switches would have to keep, to whoever changes the chain', async () => {
  const { handover } = server();
  const { signal } = new AbortController();
  const exceptions = [1, 2].map((port) => ({ flow: flow(port), ordinal: 0 }));
  expect(await handover.exceptionsOf('c-1', 'ids', signal)).toEqual(exceptions);
  expect(await handover.exceptionsOf('c-1', 'fw', signal)).toBe('something is being changed');
  world.plan = planOf('pn-1', 'engine', exceptions);
  world.coming = world.plan;
  world.kept = null;
  expect(await handover.exceptionsOf('c-1', 'ids', signal)).toMatch(/leaf-1 does not tell/);
});
