import {
  FLOW_SPACE,
  type FlowRange,
  type NfSplit,
  type Operation,
  type Plan,
  type PlannedChain,
  type Scaling,
} from '@orrery/contract';
import { drainedRanges } from '@orrery/planner';
import { expect, it } from 'vitest';
import { conflict, invalid, ProblemError, unavailable } from '../../platform/problem.js';
import type { Deployer, PlanChange } from '../../ports/deployer.js';
import { Scaler, ScalingRefusal } from './scaler.js';
import type { Scalings } from './scalings.js';

const nf = { chain_id: 'c-1', node_id: 'ids' };
const wish = { nf, instances: 2, flows: 'keep' as const, drain_s: 9, cause: 'asked for', policy_id: null, by: 'ann' };
const chain = { chain_id: 'c-1', version: 1, splits: [{ node_id: 'ids', instances: 1 }] } as unknown as PlannedChain;
const running = {
  graph: {
    nodes: [{ kind: 'nf', id: 'web.ids.0', ...nf, nf: 'ids', ordinal: 0, server: 's-1', core: 0 }],
    edges: [{ from: 'web.fw.0', to: 'web.ids.0', direction: 'forward', key: ['ip.src'] }],
  },
  chains: [chain],
  splits: [],
} as unknown as Plan;
const lossAt = (node: string) => ({ code: 'flow-state-lost', chain_id: 'c-1', node, message: `${node} loses state` });

/** A scaler whose changes get a plan that tells these problems, of what is to run by `coming`. */
function scalerOf(problems: object[], coming: () => Plan = () => running, untracked_pps: number | null = 0) {
  const stored: string[] = [];
  const trouble: { now: Error | null; broken: object[] } = { now: null, broken: [] };
  const accepted = new Map<string, Operation>();
  const asked: NfSplit[] = [];
  const facts = {
    ...{ affinity: ['ip.src'], feasible: true, moved: [] as string[], isTaken: false },
    ...{ operation_id: 'op-1', owner: null, version: 1, state: 'running', known: true },
    meanwhile: () => {},
  };
  const planned = () => ({ feasible: facts.feasible, diff: { moved: facts.moved }, problems }) as unknown as Plan;
  const requireFree = () => {
    if (facts.isTaken) throw conflict('fw is being scaled.');
  };
  const deployer = {
    operation: () => undefined,
    change: async (
      { chains }: PlanChange,
      { id, by, as_planned }: Operation,
      refusal: (plan: Plan) => string | null,
    ) => {
      if (trouble.now) throw trouble.now;
      facts.meanwhile();
      const why = refusal(planned());
      if (why !== null) throw conflict(why);
      asked.push(chains![0]!.splits![0]!);
      const operation = { id, by, as_planned } as Operation;
      accepted.set(id, operation);
      return operation;
    },
  } as unknown as Deployer;
  const begun: Scaling[] = [];
  const scalings = {
    requireFree,
    ofChain: () => undefined,
    begin: async (scaling: Scaling) => {
      requireFree();
      begun.push(scaling);
      stored.push('begun');
    },
    tell: async () => void stored.push('told'),
    forget: async () => void stored.push('forgotten'),
  } as unknown as Scalings;
  const view = {
    get comingPlan() {
      return coming();
    },
    deployment: () => facts,
  };
  const catalogue = { find: () => ({ affinity: facts.affinity, scaling: { max_instances: 4 } }) };
  const looked: NfSplit[] = [];
  const plans = {
    lookAhead: async ({ chains }: PlanChange) => {
      looked.push(chains![0]!.splits![0]!);
      return planned();
    },
  };
  const operations = { get: async (id: string) => accepted.get(id) ?? null };
  const telemetry = { newest: (key: string) => (key === 'nf/web.ids/untracked_pps' ? untracked_pps : null) };
  const boards = { broken: () => trouble.broken };
  const notKept = { ownerOf: () => facts.owner };
  const tracked = { areKnown: () => facts.known };
  const parts = [scalings, deployer, operations, view, catalogue, telemetry, boards, plans, notKept, tracked];
  const scaler = new Scaler(...(parts as unknown as ConstructorParameters<typeof Scaler>));
  return { scaler, stored, begun, trouble, asked, facts, looked };
}

it('makes no change by a plan that tells lost state where flows are to stay, also of another NF of the chain', async () => {
  for (const node of ['ids', 'mon'])
    await expect(scalerOf([lossAt(node)]).scaler.begin(wish)).rejects.toThrow(`${node} loses state`);
  await expect(scalerOf([{ ...lossAt('mon'), chain_id: 'c-2' }]).scaler.begin(wish)).resolves.toBeDefined();
  // Flows that move have it with them; those of another NF do not.
  const moving = { ...wish, flows: 'migrate' as const };
  await expect(scalerOf([lossAt('ids')]).scaler.begin(moving)).resolves.toBeDefined();
  await expect(scalerOf([lossAt('mon')]).scaler.begin(moving)).rejects.toThrow('mon loses state');
});

it('tells a change when its first operation was accepted; a refused one is forgotten', async () => {
  const refused = scalerOf([lossAt('ids')]);
  await refused.scaler.begin(wish).catch(() => undefined);
  expect(refused.stored).toEqual(['begun', 'forgotten']);
  const made = scalerOf([]);
  const operation = await made.scaler.begin(wish);
  const [scaling] = made.begun;
  expect(made.stored).toEqual(['begun', 'told']);
  // The loop asks again, and again after a restart.
  expect(await made.scaler.change(scaling!, scaling!.steps[0]!)).toBe(operation);
});

it('names the number of instances where no plan has room for it', async () => {
  const { scaler, stored, trouble } = scalerOf([]);
  const why = { detail: 'cores at server-1 needs 20 cores', code: 'cores' };
  const message = 'The plan is not feasible.';
  trouble.now = invalid([{ pointer: '', ...why }], message);
  const refusal = { status: 422, message, errors: [{ pointer: '/instances', ...why }] };
  await expect(scaler.begin(wish)).rejects.toMatchObject(refusal);
  expect(stored).toEqual(['begun', 'forgotten']);
  const late = { pointer: '/time_limit_s', detail: 'no time', code: 'out-of-time' };
  trouble.now = invalid([late]);
  await expect(scaler.begin(wish)).rejects.toMatchObject({ errors: [late] });
});

it('tells a change of which only the loop could ask for the first operation', async () => {
  const { scaler, stored, begun, trouble } = scalerOf([]);
  trouble.now = unavailable('Too many plans are queued.');
  await expect(scaler.begin(wish)).rejects.toThrow('Too many plans are queued.');
  expect(stored).toEqual(['begun']);
  trouble.now = null;
  await scaler.change(begun[0]!, begun[0]!.steps[0]!);
  expect(stored).toEqual(['begun', 'told']);
  await scaler.change({ ...begun[0]!, step: 1, steps: ['track', 'resize'] }, 'resize');
  expect(stored).toEqual(['begun', 'told']);
});

it('has no one else look at a change until its first operation was accepted', async () => {
  const { scaler, begun } = scalerOf([], () => {
    if (begun[0]) expect(scaler.isBeginning(begun[0])).toBe(true);
    return running;
  });
  await scaler.begin(wish);
  expect(scaler.isBeginning(begun[0]!)).toBe(false);
});

it('takes no step on what others have deployed since the step before', async () => {
  const halves = [
    { lo: 0, hi: FLOW_SPACE / 2 },
    { lo: FLOW_SPACE / 2, hi: FLOW_SPACE },
  ];
  const planOf = (ranges: readonly FlowRange[]) => {
    const [node] = running.graph.nodes;
    const [edge] = running.graph.edges;
    const ids = ['web.ids.0', 'web.ids.1'];
    const targets = ids.map((instance_id, i) => ({ instance_id, range: ranges[i] }));
    return {
      ...running,
      graph: {
        nodes: ids.map((id, ordinal) => ({ ...node, id, ordinal })),
        edges: ids.map((to) => ({ ...edge, to })),
      },
      splits: [{ ...nf, targets, keep_flows: {} }],
    } as unknown as Plan;
  };
  let coming = planOf(halves);
  const { scaler, begun } = scalerOf([], () => coming);
  await scaler.begin({ ...wish, instances: 1 });
  const emptied = { ...begun[0]!, step: 2 };
  expect(emptied.steps).toEqual(['drain', 'empty', 'resize']);
  const refusal = 'Somebody else changed the instances of ids or their ranges meanwhile.';
  for (const other of [planOf(halves), running]) {
    coming = other;
    await expect(scaler.change(emptied, 'resize')).rejects.toThrow(refusal);
    await expect(scaler.change(emptied, 'restore')).rejects.toThrow(refusal);
  }
  coming = planOf(drainedRanges(halves, 1));
  expect(await scaler.change(emptied, 'resize')).toMatchObject({ id: `${emptied.id}.2`, by: 'ann', as_planned: true });
  const stopped = { ...emptied, id: 'sc-stopped', cancelled_by: 'bob' };
  const restored = { id: 'sc-stopped.2', by: 'bob', as_planned: undefined };
  expect(await scaler.change(stopped, 'restore')).toMatchObject(restored);
});

it('takes no step on a chain that somebody else deployed anew since, however its instances are', async () => {
  const { scaler, begun, facts } = scalerOf([]);
  await scaler.begin(wish);
  expect(begun[0]).toMatchObject({ base_operation: 'op-1', steps: ['resize'] });
  const again = { ...begun[0]!, id: 'sc-again' };
  facts.operation_id = 'op-2';
  await expect(scaler.change(again, 'resize')).rejects.toThrow('Somebody else deployed the chain anew meanwhile.');
  expect(await scaler.change({ ...again, base_operation: 'op-2' }, 'resize')).toMatchObject({ id: 'sc-again.0' });
});

it('begins nothing, and takes no way back, while its chain is being deployed: that may come to nothing', async () => {
  const { scaler, stored, begun, facts } = scalerOf([]);
  await scaler.begin(wish);
  Object.assign(facts, { version: 2, state: 'deploying', operation_id: 'op-5' });
  const refusal = await refusalOf(scaler.begin(wish));
  expect(refusal).toMatchObject({ status: 409, message: expect.stringContaining('The chain is being deployed') });
  expect(await refusalOf(scaler.preview(wish))).toEqual(refusal);
  expect(stored).toEqual(['begun', 'told']);
  const back = { ...begun[0]!, id: 'sc-back' };
  expect(await refusalOf(scaler.change(back, 'restore'))).toEqual(refusal);
  await expect(scaler.change(back, 'restore')).rejects.not.toBeInstanceOf(ScalingRefusal);
  // Once it was cancelled the version of before is asked for, also where it was begun while that was planned.
  Object.assign(facts, { version: 1, state: 'running', operation_id: 'op-1' });
  facts.meanwhile = () => {
    facts.version = 2;
  };
  await expect(scaler.change(back, 'restore')).rejects.toThrow('Another version was deployed meanwhile.');
});

it('moves no flows that follow the ranges of an engine: their state would come later', async () => {
  const asked = { ...chain, splits: [{ node_id: 'ids', instances: 1, keep_flows: null }] };
  const { scaler } = scalerOf([], () => ({ ...running, chains: [asked] }));
  for (const flows of ['keep', 'migrate'] as const) {
    const refusal = await scaler.begin({ ...wish, flows }).catch((error: ProblemError) => error.errors);
    const detail = expect.stringContaining('ask for `keep_flows` first');
    expect(refusal).toMatchObject([{ pointer: '/flows', detail }]);
  }
});

it('changes no ranges of flows that a switch has no entries left for', async () => {
  const splits = [{ node_id: 'ids', instances: 1, keep_flows: { capacity: 9, idle_timeout_s: 5 } }];
  const [edge] = running.graph.edges;
  const graph = { ...running.graph, edges: [{ ...edge!, from: null }] };
  const chains = [{ ...chain, definition: { name: 'web' }, splits }];
  const plan = { ...running, graph, chains } as unknown as Plan;
  await expect(scalerOf([], () => plan, 3).scaler.begin(wish)).rejects.toThrow('has no entries left for flows of ids');
  await expect(scalerOf([], () => plan, null).scaler.begin(wish)).rejects.toThrow('It is not known whether switches');
  await expect(scalerOf([], () => plan).scaler.begin(wish)).resolves.toBeDefined();
});

it('begins nothing while an NF of the chain has lost its board', async () => {
  const [ids] = running.graph.nodes;
  const fw = { ...ids, id: 'web.fw.0', node_id: 'fw', board: { board: 'board-1', slot: 0 } };
  const plan = { ...running, graph: { ...running.graph, nodes: [ids, fw] } } as unknown as Plan;
  const { scaler, stored, trouble } = scalerOf([], () => plan);
  trouble.broken = [{ board: 'board-1', slot: 0 }];
  await expect(scaler.begin(wish)).rejects.toThrow('web.fw.0 has lost its board, and goes first.');
  expect(stored).toEqual([]);
  trouble.broken = [{ board: 'board-1', slot: 1 }];
  await expect(scaler.begin(wish)).resolves.toBeDefined();
});

const definition = {
  name: 'web',
  nodes: [
    { id: 'in', kind: 'ingress' },
    { id: 'ids', kind: 'nf', nf: 'ids' },
  ],
  edges: [{ id: 'e1', from: 'in', to: 'ids' }],
};
const WHOLE = [{ lo: 0, hi: FLOW_SPACE }];
const halves = [
  { lo: 0, hi: FLOW_SPACE / 2 },
  { lo: FLOW_SPACE / 2, hi: FLOW_SPACE },
];

/** The NF is the first one: switches send its flows to it, or to engines in front of its instances. */
function firstOf(split: Omit<NfSplit, 'node_id'>, more: object = {}): Plan {
  const [node] = running.graph.nodes;
  const [edge] = running.graph.edges;
  const ranges = split.ranges ?? WHOLE;
  const ids = ranges.map((_, ordinal) => `web.ids.${ordinal}`);
  const held = split.staged?.held ?? [];
  const fronts = held.map((_, i) => ({ kind: 'split', id: `web.e1.split.${i}`, ...nf, in_front_of: i }));
  const targets = ids.map((instance_id, i) => ({ instance_id, range: ranges[i] }));
  return {
    graph: {
      nodes: [...ids.map((id, ordinal) => ({ ...node, id, ordinal, ...more })), ...fronts],
      edges: ids.flatMap((to) =>
        (fronts.length > 0 ? fronts : [null]).map((it) => ({ ...edge, from: it?.id ?? null, to })),
      ),
    },
    chains: [{ ...chain, definition, splits: [{ node_id: 'ids', ...split }] }],
    splits: ids.length > 1 ? [{ ...nf, targets, keep_flows: fronts.length > 0 ? {} : null }] : [],
  } as unknown as Plan;
}
const staged = { held: WHOLE, exceptions: [], idle_timeout_s: 5 };
const kept = { exceptions: [{ flow: { 'ip.src': '10.0.1.1' }, ordinal: 1 }], idle_timeout_s: 5 };

it('has engines track the flows of a first NF before it is split, and the switches go on as before', async () => {
  let coming = firstOf({});
  const { scaler, begun, asked } = scalerOf([], () => coming);
  await scaler.begin(wish);
  expect(begun[0]!.steps).toEqual(['stage', 'settle', 'resize']);
  expect(asked).toEqual([{ node_id: 'ids', instances: 1, staged: { ...staged, idle_timeout_s: 60 } }]);
  const resize = { ...begun[0]!, step: 2 };
  await expect(scaler.change(resize, 'resize')).rejects.toThrow('in progress are not known any more');
  coming = firstOf({ instances: 1, staged });
  await scaler.change(resize, 'resize');
  expect(asked[1]).toEqual({ node_id: 'ids', instances: 2, ranges: halves, staged });
});

it('splits an NF at once whose flows are known, and waits first where they may not all be, whoever had them tracked', async () => {
  const keep_flows = { capacity: 9, idle_timeout_s: 5 };
  for (const [plan, first, split] of [
    [firstOf({ instances: 1, staged }), 'stage', { staged }],
    [firstOf({ instances: 1, keep_flows }), 'track', {}],
    [running, 'track', {}],
  ] as const) {
    const { scaler, begun, facts, asked } = scalerOf([], () => plan);
    facts.known = false;
    await scaler.begin(wish);
    facts.known = true;
    await scaler.begin(wish);
    expect(begun.map(({ steps }) => steps)).toEqual([[first, 'settle', 'resize'], ['resize']]);
    // As many flows as before, for as long.
    expect(asked[0]).toEqual({ node_id: 'ids', instances: 1, ...split });
    facts.known = false;
    await expect(scaler.begin({ ...wish, instances: 1 })).rejects.toThrow('ids has 1 instance already');
  }
});

it('takes instances of a first NF away by its engines, and by the switches where these send flows to them', async () => {
  let coming = firstOf({ instances: 2, ranges: halves, staged });
  const { scaler, begun, asked } = scalerOf([], () => coming);
  await scaler.begin({ ...wish, instances: 1 });
  coming = firstOf({ instances: 2, ranges: drainedRanges(halves, 1), staged });
  await scaler.change({ ...begun[0]!, step: 2 }, 'resize');
  expect(asked).toMatchObject([
    { ranges: drainedRanges(halves, 1), staged },
    { instances: 1, staged },
  ]);

  coming = firstOf({ instances: 2, ranges: halves, staged: kept });
  await scaler.begin({ ...wish, instances: 1 });
  expect(begun[1]!.steps).toEqual(['stage', 'settle', 'drain', 'empty', 'resize']);
  expect(asked[2]).toMatchObject({ instances: 2, ranges: halves, staged: { ...kept, held: halves } });
  const front = { ...kept, held: halves };
  coming = firstOf({ instances: 2, ranges: drainedRanges(halves, 1), staged: front });
  const last = { ...begun[1]!, step: 4 };
  expect(await scaler.needsExceptions(last, 'resize')).toBe(false);
  await scaler.change(last, 'resize');
  expect(asked[3]).toEqual({ node_id: 'ids', instances: 1, staged: { exceptions: [], idle_timeout_s: 5 } });
});

it('refuses by its field what a first NF cannot do while its flows stay', async () => {
  const refused = (plan: Plan, more: object = {}) =>
    scalerOf([], () => plan)
      .scaler.begin({ ...wish, ...more })
      .then(
        () => null,
        ({ errors }: ProblemError) => errors.map(({ pointer, detail }) => `${pointer} ${detail}`)[0],
      );
  expect(await refused(firstOf({}))).toBeNull();
  expect(await refused(firstOf({}, { driver: 'board' }))).toMatch(/^\/flows .*runs on a board/);
  const twice = firstOf({});
  Object.assign(twice.chains[0]!, { execution: 'parallel' });
  expect(await refused(twice)).toMatch(/^\/flows .*in sequence/);
  expect(await refused(twice, { flows: 'migrate' })).toBeNull();
  expect(await refused(firstOf({ instances: 1, staged }), { flows: 'migrate' })).toMatch(/^\/flows .*none moves/);
  const thirds = firstOf({
    instances: 3,
    ranges: [halves[0]!, { lo: 32_768, hi: 50_000 }, { lo: 50_000, hi: 65_536 }],
  });
  expect(await refused(thirds, { instances: 1 })).toMatch(/^\/instances .*ask for 2 first/);
});

/** What the preview of a change says, which leaves nothing behind; what is begun then is the same. */
async function shown(coming: Plan, more: object = {}, affinity = ['ip.src']) {
  const { scaler, stored, begun, asked, facts, looked } = scalerOf([], () => coming);
  facts.affinity = affinity;
  const preview = await scaler.preview({ ...wish, ...more });
  expect(stored).toEqual([]);
  await scaler.begin({ ...wish, ...more });
  const { from, to, steps, splits } = preview;
  expect(begun).toMatchObject([{ from, to, steps }]);
  expect(looked).toEqual(asked);
  if (steps[0] !== 'drain') expect(asked).toEqual(splits.slice(0, 1));
  return preview;
}

it('shows what it will ask of a first NF that is split in steps, at each step on top of the one before', async () => {
  const first = { ...staged, idle_timeout_s: 60 };
  expect(await shown(firstOf({}))).toEqual({
    ...{ from: 1, to: 2, steps: ['stage', 'settle', 'resize'], idle_timeout_s: 60, feasible: true },
    splits: [
      { node_id: 'ids', instances: 1, staged: first },
      { node_id: 'ids', instances: 2, ranges: halves, staged: first },
    ],
  });
  const two = await shown(firstOf({ ranges: halves }), { instances: 3 });
  expect(two.splits).toMatchObject([{ instances: 2, ranges: halves, staged: { held: halves } }, { instances: 3 }]);
  expect(two.splits[1]!.staged).toEqual(two.splits[0]!.staged);
  // Switches keep what they have where they send no flows to what goes.
  const down = { instances: 1 };
  expect(await shown(firstOf({ instances: 2, ranges: halves, staged }), down)).toMatchObject({
    steps: ['drain', 'empty', 'resize'],
    splits: [{ node_id: 'ids', instances: 1, staged }],
    idle_timeout_s: 5,
  });
  const again = await shown(firstOf({ instances: 2, ranges: halves, staged: kept }), { instances: 3 });
  expect(again.steps).toEqual(['stage', 'settle', 'resize']);
  expect(again.splits).toMatchObject([
    { instances: 2, ranges: halves, staged: { ...kept, held: halves } },
    { instances: 3, staged: { ...kept, held: halves } },
  ]);
  // Else they get the ranges of those that stay.
  const left = { node_id: 'ids', instances: 1, staged: { exceptions: [], idle_timeout_s: 5 } };
  const over = await shown(firstOf({ instances: 2, ranges: halves, staged: kept }), down);
  expect(over.splits).toEqual([expect.objectContaining({ instances: 2 }), left]);
  const front = await shown(firstOf({ instances: 2, ranges: halves, staged: { ...kept, held: halves } }), down);
  expect(front.splits).toEqual([left]);
});

it('shows one step for what keeps no flows, and tracking where engines in front do not know them yet', async () => {
  const one = [{ node_id: 'ids', instances: 2, ranges: halves }];
  for (const preview of [await shown(firstOf({}), {}, []), await shown(running)])
    expect(preview).toMatchObject({ steps: ['resize'], splits: one });
  const bySwitches = await shown(firstOf({ keep_flows: { capacity: 9, idle_timeout_s: 5 } }));
  expect(bySwitches).toMatchObject({ steps: ['resize'], splits: one, idle_timeout_s: 5 });
  expect(await shown(firstOf({}), { flows: 'migrate' })).toMatchObject({ steps: ['resize', 'move'], splits: one });
  const [edge] = running.graph.edges;
  const graph = { ...running.graph, edges: [{ ...edge!, key: [] }] };
  const track = await shown({ ...running, graph });
  expect(track).toMatchObject({ steps: ['track', 'settle', 'resize'], idle_timeout_s: 60 });
  expect(track.splits).toEqual([{ node_id: 'ids', instances: 1 }, ...one]);
});

async function refusalOf(asking: Promise<unknown>) {
  const refused = await asking.catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ProblemError);
  const { status, message, errors } = refused as ProblemError;
  return { status, message, errors };
}

it('refuses to show what it would refuse to begin, with the same words', async () => {
  const board = { board: 'board-1', slot: 0 };
  const [node] = running.graph.nodes;
  const onBoard = { ...running, graph: { ...running.graph, nodes: [{ ...node!, board }] } } as unknown as Plan;
  const stepped = firstOf({ instances: 1, staged });
  const cases: [plan: Plan, more: object, facts: object, problems: object[]][] = [
    [running, { nf: { ...nf, node_id: 'mon' } }, {}, []],
    [running, { instances: 5 }, {}, []],
    [running, { instances: 1 }, {}, []],
    [stepped, { flows: 'migrate' }, {}, []],
    [onBoard, {}, {}, []],
    [running, {}, { isTaken: true }, []],
    [running, {}, { owner: 'the service pool "pool"' }, []],
    [running, {}, { moved: ['web.mon.0'] }, []],
    [running, {}, {}, [lossAt('mon')]],
  ];
  for (const [plan, more, facts, problems] of cases) {
    const given = scalerOf(problems, () => plan);
    Object.assign(given.facts, facts);
    given.trouble.broken = [board];
    const asked = { ...wish, ...more };
    expect(await refusalOf(given.scaler.preview(asked))).toEqual(await refusalOf(given.scaler.begin(asked)));
  }
  const { scaler, facts } = scalerOf([]);
  facts.feasible = false;
  expect(await scaler.preview(wish)).toMatchObject({ steps: ['resize'], feasible: false });
});
