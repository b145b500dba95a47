import type { Deployment, Operation, Plan, Scaling } from '@orrery/contract';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { LoopRun } from '../../platform/control-loop/definition.js';
import { conflict, invalid } from '../../platform/problem.js';
import { ScalingConductor } from './conductor.js';
import { ScalingRefusal } from './scaler.js';

const nf = { chain_id: 'c-1', node_id: 'ids' };
const IDLE_S = 10;
const DEPLOYED = { state: 'running', operation_id: 'op-1' } as const;
/** Switches give flows to two instances by ranges, and nobody counts them. */
const plan = {
  graph: {
    nodes: [
      ...[0, 1].map((ordinal) => ({ kind: 'nf', id: `web.ids.${ordinal}`, ...nf, ordinal })),
      { kind: 'nf', id: 'web.fw.0', chain_id: 'c-1', node_id: 'fw', ordinal: 0, board: { board: 'board-1', slot: 0 } },
    ],
    edges: [0, 1].map((i) => ({ from: null, to: `web.ids.${i}`, direction: 'forward', key: ['ip.src'] })),
  },
  chains: [{ chain_id: 'c-1', splits: [{ node_id: 'ids', keep_flows: { capacity: 9, idle_timeout_s: IDLE_S } }] }],
  splits: [],
} as unknown as Plan;

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'Date'] }));
afterEach(() => void vi.useRealTimers());

function conductorOf(stored: Scaling) {
  const state = {
    ...{ scaling: stored, isBeginning: false, needsExceptions: false, broken: [] as object[] },
    ...{ takenBackBy: [] as string[], pps: 0 },
    ...{ deployment: DEPLOYED as Partial<Deployment> | undefined, accepted: null as Partial<Operation> | null },
    change: (): Promise<Partial<Operation>> => Promise.reject(new ScalingRefusal('no room')),
  };
  const scalings = {
    write: async (next: Scaling) => {
      state.scaling = next;
      return true;
    },
  };
  const scaler = {
    isBeginning: () => state.isBeginning,
    needsExceptions: async () => state.needsExceptions,
    change: () => state.change(),
  };
  const handovers = { exceptionsOf: async () => 'leaf-1 is away' };
  const telemetry = { newest: (key: string) => (key.endsWith('/pps') ? state.pps : null) };
  const deployer = { takeBack: async (_id: string, _why: string, by: string) => void state.takenBackBy.push(by) };
  const operations = { get: async () => state.accepted };
  const view = { plan, deployment: () => state.deployment };
  const boards = { broken: () => state.broken };
  const parts = [scalings, scaler, deployer, operations, {}, view, telemetry, boards, handovers];
  const conductor = new ScalingConductor(...(parts as unknown as ConstructorParameters<typeof ScalingConductor>));
  const run = { step: (work: Promise<unknown>) => work } as unknown as LoopRun;
  const cancel = (by: string) => conductor.cancel(state.scaling, by);
  return { state, cancel, look: () => conductor.look(state.scaling, run) };
}

const draining = (step: number, more: Partial<Scaling> = {}) =>
  ({
    ...{ id: 'sc-1', nf, from: 2, to: 1, by: 'ann', drain_s: 300, state: 'running', error: null, left_flows: null },
    ...{ steps: ['drain', 'empty', 'resize'], step, step_ms: Date.now(), before: [], after: [] },
    ...{ base_operation: DEPLOYED.operation_id, ...more },
  }) as unknown as Scaling;

it('takes an instance for empty only after an idle time through which somebody looked', async () => {
  const { state, look } = conductorOf(draining(1));
  await look();
  vi.advanceTimersByTime(20_000);
  await look();
  expect(state.scaling.step).toBe(1);
  for (let second = 0; second < IDLE_S - 1; second++) {
    vi.advanceTimersByTime(1000);
    await look();
  }
  expect(state.scaling.step).toBe(1);
  vi.advanceTimersByTime(1000);
  await look();
  expect(state.scaling).toMatchObject({ step: 2, left_flows: 0 });
});

it('is stopped by who asks for that, be it at once or once its ranges are back', async () => {
  const settling = conductorOf(draining(1, { steps: ['track', 'settle', 'resize'], from: 1, to: 2 }));
  await settling.cancel('bob');
  expect(settling.state.scaling).toMatchObject({ state: 'cancelled', cancelled_by: 'bob', by: 'ann' });
  expect(await settling.cancel('eve')).toBeNull();
  const { state, cancel, look } = conductorOf(draining(1));
  await cancel('bob');
  state.change = async () => ({ id: 'sc-1.2', state: 'COMPLETED' });
  await look();
  expect(state.scaling).toMatchObject({ state: 'cancelled', cancelled_by: 'bob', by: 'ann' });
});

it('says that ranges stay drained where they cannot go back', async () => {
  const { state, look } = conductorOf(draining(2));
  await look();
  expect(state.scaling).toMatchObject({ steps: ['drain', 'empty', 'resize', 'restore'], step: 3, error: 'no room' });
  state.change = () => Promise.reject(new ScalingRefusal('no way back'));
  await look();
  expect(state.scaling).toMatchObject({
    state: 'failed',
    error: 'no room; its ranges stay drained, unless somebody else changed them: no way back',
  });
});

it.each([
  ['the queue is full', conflict('16 operations are already queued.')],
  ['there was no time to plan', invalid([{ pointer: '', detail: 'no time', code: 'out-of-time' }])],
])('tries a step again while %s', async (_, refusal) => {
  const { state, look } = conductorOf(draining(2));
  state.change = () => Promise.reject(refusal);
  await look();
  vi.advanceTimersByTime(59_000);
  await look();
  expect(state.scaling).toMatchObject({ step: 2, state: 'running', error: null });
  vi.advanceTimersByTime(1000);
  await look();
  expect(state.scaling).toMatchObject({ step: 3, state: 'running', error: refusal.message });
  // Ranges go back for longer.
  vi.advanceTimersByTime(599_000);
  await look();
  expect(state.scaling).toMatchObject({ step: 3, state: 'running' });
  state.change = async () => ({ id: 'sc-1.3', state: 'COMPLETED' });
  await look();
  expect(state.scaling).toMatchObject({ state: 'failed', error: refusal.message });
});

it.each([
  ['ranges go back', draining(3, { steps: ['drain', 'empty', 'resize', 'restore'], error: 'no room' }), false, 600_000],
  ['an instance goes', draining(2), false, 60_000],
  ['switches are told', draining(2, { from: 3, to: 2 }), true, 300_000],
])('counts no time in which no server ran as a refusal while %s', async (_, scaling, needsExceptions, patienceMs) => {
  const { state, look } = conductorOf({ ...scaling, step_ms: Date.now() - 2 * patienceMs });
  state.needsExceptions = needsExceptions;
  state.change = () => Promise.reject(conflict('The agent of server-2 is not connected.'));
  await look();
  vi.advanceTimersByTime(patienceMs - 1);
  await look();
  expect(state.scaling).toMatchObject({ step: scaling.step, state: 'running' });
  vi.advanceTimersByTime(1);
  await look();
  expect(state.scaling.error).toMatch(/server-2 is not connected|leaf-1 is away/);
});

it.each([
  ['settle', draining(1, { steps: ['track', 'settle'], from: 1, to: 1 }), IDLE_S],
  ['empty', draining(1), 300],
])('waits anew with the step %s once a server was started: the wall clock may have jumped', async (_, scaling, s) => {
  const { state, look } = conductorOf({ ...scaling, step_ms: Date.now() - 86_400_000 });
  state.pps = 1;
  await look();
  vi.advanceTimersByTime(1000 * s - 1);
  await look();
  expect(state.scaling).toMatchObject({ step: 1, state: 'running' });
  vi.advanceTimersByTime(1);
  await look();
  expect(state.scaling.step).toBe(2);
});

const restoring = draining(3, { steps: ['drain', 'empty', 'resize', 'restore'], cancelled_by: 'bob' });

it.each([
  [draining(2), 'ann'],
  [restoring, 'bob'],
])('takes a stuck operation back after ten seconds, for who cancelled the change or began it', async (scaling, by) => {
  const { state, look } = conductorOf(scaling);
  state.change = async () => ({ id: 'sc-1.2', state: 'PROCESSING' });
  await look();
  vi.advanceTimersByTime(15_000);
  state.change = async () => ({ id: 'sc-1.2', state: 'FAILED_TEMP', error: null });
  await look();
  vi.advanceTimersByTime(10_000);
  await look();
  expect(state.takenBackBy).toEqual([]);
  vi.advanceTimersByTime(1);
  await look();
  expect(state.takenBackBy).toEqual([by]);
});

it('leaves a change alone until it is known whether there will be one', async () => {
  const { state, look } = conductorOf(draining(0));
  state.isBeginning = true;
  await look();
  expect(state.scaling).toMatchObject({ state: 'running', step: 0 });
  state.isBeginning = false;
  await look();
  expect(state.scaling).toMatchObject({ state: 'failed', error: 'no room' });
});

it('fails while it waits where its chain was undeployed, or deployed anew by somebody else since its last step', async () => {
  const anew = { state: 'running', operation_id: 'op-2' } as const;
  const why = 'Somebody else deployed the chain anew meanwhile.';
  const settling = draining(1, { steps: ['track', 'settle', 'resize'], from: 1, to: 2 });
  for (const deployment of [undefined, { ...DEPLOYED, state: 'undeploying' as const }])
    for (const scaling of [settling, draining(1), draining(3, { steps: ['drain', 'empty', 'resize', 'restore'] })]) {
      const { state, look } = conductorOf(scaling);
      state.deployment = deployment;
      await look();
      expect(state.scaling).toMatchObject({ state: 'failed', error: 'The chain is not deployed any more.' });
    }
  const waits = conductorOf(settling);
  await waits.look();
  expect(waits.state.scaling.state).toBe('running');
  waits.state.deployment = anew;
  await waits.look();
  expect(waits.state.scaling).toMatchObject({ state: 'failed', step: 1, error: why });
  // Ranges that were drained go back where nobody changed them.
  const { state, look } = conductorOf(draining(1));
  state.deployment = anew;
  await look();
  expect(state.scaling).toMatchObject({ state: 'running', steps: ['drain', 'empty', 'restore'], step: 2, error: why });
  state.change = async () => ({ id: 'sc-1.2', state: 'COMPLETED' });
  await look();
  expect(state.scaling).toMatchObject({ state: 'failed', error: why });
});

it('goes on from what its own operation deployed, and leaves it to that what others deploy behind it', async () => {
  const { state, look } = conductorOf(draining(0));
  state.change = async () => ({ id: 'sc-1.0', state: 'PROCESSING' });
  state.deployment = { state: 'deploying', operation_id: 'sc-1.0' };
  state.accepted = { id: 'sc-1.0' };
  await look();
  expect(state.scaling).toMatchObject({ state: 'running', step: 0 });
  state.deployment = { state: 'deploying', operation_id: 'op-2' };
  await look();
  expect(state.scaling).toMatchObject({ state: 'running', step: 0 });
  state.change = async () => ({ id: 'sc-1.0', state: 'COMPLETED' });
  await look();
  expect(state.scaling).toMatchObject({ state: 'running', step: 1, base_operation: 'sc-1.0' });
  state.accepted = null;
  await look();
  expect(state.scaling).toMatchObject({ steps: ['drain', 'empty', 'restore'], step: 2 });
});

it('makes way while it waits where an NF of the chain has lost its board', async () => {
  const { state, look } = conductorOf(draining(1));
  state.broken = [{ board: 'board-1', slot: 1 }];
  await look();
  expect(state.scaling.step).toBe(1);
  state.broken = [{ board: 'board-1', slot: 0 }];
  await look();
  // It is back before it counts as lost.
  vi.advanceTimersByTime(500);
  state.broken = [];
  await look();
  vi.advanceTimersByTime(500);
  state.broken = [{ board: 'board-1', slot: 0 }];
  await look();
  vi.advanceTimersByTime(999);
  await look();
  expect(state.scaling.step).toBe(1);
  vi.advanceTimersByTime(1);
  await look();
  const error = 'web.fw.0 has lost its board, and goes first';
  expect(state.scaling).toMatchObject({ steps: ['drain', 'empty', 'restore'], step: 2, error });
});

it('waits for what switches have to be told before an instance goes to which they send flows, and tells why it could not be', async () => {
  const { state, look } = conductorOf(draining(2, { from: 3, to: 2 }));
  state.needsExceptions = true;
  await look();
  expect(state.scaling).toMatchObject({ step: 2, error: null });
  vi.advanceTimersByTime(300_000);
  await look();
  expect(state.scaling).toMatchObject({ step: 3, error: 'switches cannot take over: leaf-1 is away' });
});
