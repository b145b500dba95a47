import {
  FLOW_SPACE,
  type KeepFlows,
  type Operation,
  type Problem,
  type Scaling,
  type ScalingPreview,
} from '@orrery/contract';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventsOf } from './testing/events.js';
import { FakeAgent } from './testing/fake-agent.js';
import { RACK } from './testing/fixtures.js';
import { pairChain } from './testing/pair-chain.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

/** A monitor in front of an IDS, each of which needs one instance by its estimate. */
const CHAIN = pairChain({ first: 'monitor', rate_bps: 1e6 });
const KEEP: KeepFlows = { capacity: 100, idle_timeout_s: 1 };
const HALVES = [
  { lo: 0, hi: FLOW_SPACE / 2 },
  { lo: FLOW_SPACE / 2, hi: FLOW_SPACE },
];

let server: TestServer;
let chain_id: string;
/** CPU share of each instance of the IDS; what its split tells of flows at each. */
let cpu: (id: string) => number;
let queue: number;
let flows: number;
let beat: NodeJS.Timeout;

/** Agents report all the time, as real ones do. */
function report(): void {
  for (const agent of server.agents.values()) {
    agent.loadOf = (id) => ({
      cpu_share: id.includes('.ids.') ? cpu(id) : 0.01,
      queue_depth: id.includes('.ids.') ? queue : 0,
    });
    const output = agent.spec?.instances.find(({ node_id }) => node_id === 'fw')?.outputs[0];
    const targets = output?.targets.map(({ to }) => ({ to, packets: 1, flows, exceptions: 0 })) ?? [];
    const split = {
      from_id: 'web.fw.0',
      edge_id: output?.edge_id ?? '',
      tracks_flows: true,
      untracked: 0,
      displaced: 0,
      targets,
    };
    const fronts = (agent.spec?.modules ?? []).flatMap((it) => (it.kind === 'queue' ? [it] : []));
    const ofFirst = fronts.map(({ id, outputs: [of] }) => ({
      ...split,
      ...{ from_id: id, edge_id: of!.edge_id },
      targets: of!.targets.map(({ to }) => ({ to, packets: 1, flows: 0, exceptions: 0 })),
    }));
    agent.sample(1, 160, [...(targets.length > 1 ? [split] : []), ...ofFirst]);
  }
}

beforeEach(async () => {
  [cpu, queue, flows] = [() => 0.5, 0, 3];
  server = await TestServer.start({ twin: true });
  await server.bringUp(RACK);
  ({ id: chain_id } = await server.api.call('createChain', { body: CHAIN }));
  const splits = [{ node_id: 'ids', keep_flows: KEEP }];
  const { id } = await server.api.call('createDeployment', { body: { chain_id, splits } });
  expect(await server.finished(id)).toMatchObject({ state: 'COMPLETED', error: null });
  beat = setInterval(report, 100);
});
afterEach(async () => {
  clearInterval(beat);
  await server.stop();
});

const idsOf = async () =>
  (await server.api.call('listNfInstances', { query: { chain_id, nf: 'ids' } })).items.map(({ id }) => id).sort();
const scale = (instances: number, more: object = {}) =>
  server.api.request('scaleDeployment', {
    params: { chain_id },
    body: JSON.stringify({ node_id: 'ids', instances, ...more }),
  });
/** What it is said to do before it is done. */
const preview = (instances: number, more: object = {}) =>
  server.api.request('previewScaling', {
    params: { chain_id },
    body: JSON.stringify({ node_id: 'ids', instances, ...more }),
  });
const shown = async (instances: number, more?: object) => (await preview(instances, more)).body as ScalingPreview;
const refusalOf = ({ status, body }: { readonly status: number; readonly body: unknown }) => {
  const { detail, errors } = body as Problem;
  return { status, detail, errors };
};
const scalings = async () => (await server.api.call('listScalings')).items;
const stepOf = ({ steps, step }: Scaling) => steps[step];
const at = (step: string) => until(`step ${step}`, async () => stepOf((await scalings())[0]!) === step);
const over = () =>
  until('the end', async () => {
    const [last] = await scalings();
    return last!.state === 'running' ? null : last!;
  });
const ranges = async () =>
  (await server.api.call('getSplit', { params: { chain_id, node_id: 'ids' } })).targets.map(({ range }) => range);
const operations = async () => (await server.api.call('listOperations')).items.filter(({ kind }) => kind === 'deploy');
/** What the last change asked of the split when flows became known and its number changed. */
const askedOf = async ({ id, steps }: Scaling) => {
  const made = await operations();
  const kinds: readonly string[] = ['track', 'stage', 'resize'];
  return steps.flatMap((step, i) => {
    if (!kinds.includes(step)) return [];
    return made.find((operation) => operation.id === `${id}.${i}`)?.request.chains[0]?.splits ?? [];
  });
};

it('by hand: flows become known before a split, and an instance that goes waits for its flows, also over a restart', async () => {
  const out = await shown(2);
  expect(out).toMatchObject({ from: 1, to: 2, steps: ['track', 'settle', 'resize'], feasible: true });
  expect(out.idle_timeout_s).toBe(KEEP.idle_timeout_s);
  expect(await scalings()).toEqual([]);
  const first = (await scale(2)).body as Operation;
  expect(first).toMatchObject({ kind: 'deploy', subject: chain_id, as_planned: true });
  expect((await scale(3)).status).toBe(409);
  expect(refusalOf(await preview(3))).toEqual(refusalOf(await scale(3)));
  const done = await over();
  expect(done).toMatchObject({ state: 'completed', steps: out.steps, error: null });
  expect(await askedOf(done)).toEqual(out.splits);
  expect(await idsOf()).toEqual(['web.ids.0', 'web.ids.1']);
  expect(await ranges()).toEqual(HALVES);
  for (const instances of [99, 2]) {
    const refusal = refusalOf(await scale(instances));
    expect(refusal).toMatchObject({ status: 422, errors: [{ pointer: '/instances' }] });
    expect(refusalOf(await preview(instances))).toEqual(refusal);
  }

  await scale(1);
  await at('empty');
  expect((await ranges())[1]!.hi - (await ranges())[1]!.lo).toBe(1);
  // A cancelled one gives the range back.
  const { id } = (await scalings())[0]!;
  const { by, cancelled_by } = await server.api.call('cancelScaling', { params: { id } });
  expect(cancelled_by).toBe(by);
  expect(await over()).toMatchObject({ id, state: 'cancelled', cancelled_by });
  expect(await ranges()).toEqual(HALVES);

  await scale(1);
  await at('empty');
  clearInterval(beat);
  const nodes = [...server.agents.keys()];
  await server.pause();
  server = await TestServer.start({ twin: true }, server.scratch);
  for (const node of nodes) {
    const { token } = await server.api.call('createJoinToken', { body: { node } });
    const agent = new FakeAgent(server.running.url, node, token);
    await agent.connect();
    server.agents.set(node, agent);
  }
  await until('they are told', () => [...server.agents.values()].some(({ spec }) => spec?.instances.length));
  expect(stepOf((await scalings())[0]!)).toBe('empty');
  flows = 0;
  beat = setInterval(report, 100);
  expect(await over()).toMatchObject({ state: 'completed', left_flows: 0 });
  expect(await idsOf()).toEqual(['web.ids.0']);
  const made = (await operations()).map(({ id: each }) => each);
  expect(new Set(made).size).toBe(made.length);

  // It does not outlive what it was asked for.
  await scale(2);
  expect(await over()).toMatchObject({ state: 'completed' });
  flows = 3;
  await scale(1);
  await at('empty');
  await server.api.call('deleteDeployment', { params: { chain_id } });
  expect(await over()).toMatchObject({ state: 'failed', error: 'The chain is not deployed any more.' });
}, 60_000);

it('keeps flows only where they can stay, whatever is asked of ranges, numbers, steps and flows in one deployment', async () => {
  const split = { node_id: 'ids', instances: 2, ranges: [...HALVES], keep_flows: null };
  const held = { held: [{ lo: 0, hi: FLOW_SPACE }], idle_timeout_s: 1 };
  const put = async (splits: object[]) => {
    const body = { chain_id, splits } as { chain_id: string };
    const { status, body: answer } = await server.api.request('createDeployment', { body: JSON.stringify(body) });
    if (status !== 202) return (answer as { errors: { pointer: string }[] }).errors.map(({ pointer }) => pointer);
    expect(await server.finished((answer as Operation).id)).toMatchObject({ state: 'COMPLETED', error: null });
    return [];
  };
  expect(await put([{ ...split, ranges: [...HALVES], instances: 3 }])).toEqual(['/splits/0/ranges']);
  expect(await put([{ ...split, staged: held }])).toEqual(['/splits/0/staged']);
  expect(await put([{ node_id: 'fw', staged: { ...held, held: HALVES } }])).toEqual(['/splits/0/staged/held']);
  // As the console shows it before it begins: a first NF's flows stay, as the second step is planned on top of the first.
  const planOf = (instances: number, on_top_of?: string) => {
    const splits = [{ node_id: 'fw', instances, staged: held }];
    return server.api.call('createPlan', { body: { chains: [{ chain_id, version: 1, splits }], on_top_of } });
  };
  const tracking = await planOf(1);
  const shared = await planOf(2, tracking.id);
  for (const plan of [tracking, shared]) expect(plan).toMatchObject({ feasible: true, problems: [] });
  expect((await planOf(2)).problems.map(({ code }) => code)).toEqual(['flow-state-lost']);
  expect(await put([split])).toEqual([]);
  const refusal = await scale(3);
  expect([refusal.status, (refusal.body as { errors: { detail: string }[] }).errors[0]!.detail]).toEqual([
    422,
    expect.stringContaining('keep_flows: null'),
  ]);
  expect(refusalOf(await preview(3))).toEqual(refusalOf(refusal));
  const request = { chains: [{ chain_id, version: 1, splits: [{ node_id: 'ids', instances: 3 }] }] };
  const lost = (await server.api.call('createPlan', { body: request })).problems.map(({ code }) => code);
  expect(lost).toEqual(['flow-state-lost']);
  // A policy that keeps flows asks for no tracking that was not wanted, and tells why it can do nothing.
  const limits = { utilization: 0.8, queue: 100, for_s: 0.5 };
  const policy = await server.api.call('createScalingPolicy', {
    body: { nf: { chain_id, node_id: 'ids' }, out: limits, cooldown_s: 1, max_instances: 4 },
  });
  cpu = () => 0.95;
  await until('it is refused', async () => {
    const { refusal: why } = await server.api.call('getScalingPolicy', { params: { id: policy.id } });
    return why?.includes('/flows') || why?.includes('keep_flows');
  });
  expect(await scalings()).toEqual([]);
  expect(eventsOf((await server.api.call('listEvents', { query: { limit: 1000 } })).items, 'scaling.')).toMatchObject([
    { type: 'scaling.policy' },
    { type: 'scaling.refused' },
  ]);
  // Flows that are kept again stay when the first NF is split in steps beside.
  expect(
    await put([
      { ...split, keep_flows: KEEP },
      { node_id: 'fw', staged: held },
    ]),
  ).toEqual([]);
  expect(await ranges()).toEqual(HALVES);
  expect((await scale(2, { node_id: 'fw', flows: 'migrate' })).status).toBe(422);
  const classes = () =>
    server.switches.get(RACK.switches[0]!.id)!.spec!.entries.filter(({ rule_id }) => rule_id?.startsWith('classify/'));
  const before = classes();
  const stepped = await shown(2, { node_id: 'fw' });
  expect(stepped.steps).toEqual(['stage', 'settle', 'resize']);
  expect((await scale(2, { node_id: 'fw' })).status).toBe(202);
  const staged = await over();
  expect(staged).toMatchObject({ state: 'completed', steps: stepped.steps, error: null });
  expect(await askedOf(staged)).toEqual(stepped.splits);
  const splitOf = () => server.api.call('getSplit', { params: { chain_id, node_id: 'fw' } });
  expect(await splitOf()).toMatchObject({ at: 'engine', targets: [{}, {}], staged: { ...held, exceptions: [] } });
  // Undone by the engine alone.
  const back = await shown(1, { node_id: 'fw' });
  expect((await scale(1, { node_id: 'fw' })).status).toBe(202);
  const undone = await over();
  expect(back.steps).toEqual(['drain', 'empty', 'resize']);
  expect(undone).toMatchObject({ state: 'completed', steps: back.steps, left_flows: 0 });
  expect(await askedOf(undone)).toEqual(back.splits);
  expect(classes()).toEqual(before);
}, 60_000);

it('by policy: out at overload, refused once at its limit, in when idle, and nothing otherwise', async () => {
  const limits = { utilization: 0.8, queue: 100, for_s: 0.5 };
  const body = {
    nf: { chain_id, node_id: 'ids' },
    out: limits,
    in: { utilization: 0.2, queue: 5, for_s: 0.5 },
    max_instances: 2,
    cooldown_s: 1,
    strategy: 'migrate' as const,
  };
  for (const { answers } of server.agents.values()) {
    answers.set('export_flows', { state: {}, rows: 0, portion: 'p', last: true });
    answers.set('import_state', { tables: 't', left_out: 0 });
    answers.set('release_flows', { released: 0, kept: 0 });
    answers.set('end_hold', { flows: 0, packets: 0, table_full: false });
  }
  const bad = await server.api.request('createScalingPolicy', {
    body: JSON.stringify({ ...body, in: limits, nf: { chain_id, node_id: 'ids' } }),
  });
  expect([bad.status, (bad.body as { errors: { pointer: string }[] }).errors[0]!.pointer]).toEqual([
    422,
    '/in/utilization',
  ]);
  const unknown = await server.api.request('createScalingPolicy', {
    body: JSON.stringify({ ...body, nf: { chain_id, node_id: 'nobody' } }),
  });
  expect([unknown.status, (unknown.body as { errors: { pointer: string }[] }).errors[0]!.pointer]).toEqual([
    422,
    '/nf/node_id',
  ]);
  const policy = await server.api.call('createScalingPolicy', { body });
  const now = () => server.api.call('getScalingPolicy', { params: { id: policy.id } });
  const events = async (type: 'scaling.') =>
    eventsOf((await server.api.call('listEvents', { query: { limit: 1000 } })).items, type);
  // Its flows are tracked at once; nothing else happens while the load is between the limits.
  await until('it watches', async () => (await scalings()).length > 0 && (await now()).state === 'watching');
  expect((await scalings()).map(({ from, to, steps }) => [from, to, steps])).toEqual([[1, 1, ['track', 'settle']]]);

  cpu = () => 0.95;
  await until('it scales out', async () => (await scalings())[0]!.to === 2);
  expect(await over()).toMatchObject({
    state: 'completed',
    policy_id: policy.id,
    steps: ['resize', 'move'],
    error: null,
  });
  expect(await idsOf()).toHaveLength(2);
  await until('it is refused', async () => (await now()).refusal?.includes('at most 2') === true);
  expect(await idsOf()).toHaveLength(2);

  [cpu, flows] = [() => 0.05, 0];
  await until('it scales in', async () => (await scalings())[0]!.to === 1 && (await scalings())[0]!.from === 2);
  expect(await over()).toMatchObject({
    state: 'completed',
    steps: ['drain', 'move', 'empty', 'resize'],
    left_flows: 0,
    error: null,
  });
  const moves = (await server.api.call('listOperations')).items.flatMap(({ migration }) => migration ?? []);
  expect(moves.map(({ from, to, flows: { hash } }) => [from, to, hash?.lo])).toEqual([
    ['web.ids.1', 'web.ids.0', FLOW_SPACE / 2],
    ['web.ids.0', 'web.ids.1', FLOW_SPACE / 2],
  ]);
  expect(await idsOf()).toEqual(['web.ids.0']);
  expect(await scalings()).toHaveLength(3);
  expect(
    (await events('scaling.'))
      .map(({ type }) => type)
      .filter((type) => type !== 'scaling.ended')
      .toSorted(),
  ).toEqual(['scaling.in', 'scaling.out', 'scaling.policy', 'scaling.refused']);
}, 60_000);
