import type { Reconfiguration } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BoardBench, type DeployedNf, SLOT, stagesOf } from './testing/board-bench.js';
import { eventsOf } from './testing/events.js';
import { type KillPoint, killAt } from './testing/kill-point.js';
import { until } from './testing/wait.js';

let bench: BoardBench;
let alpha: DeployedNf;
let beta: DeployedNf;

beforeEach(async () => {
  bench = await BoardBench.start({ ORRERY_STEP_TIMEOUT_MS: '15000' });
  ({ alpha, beta } = bench);
});
afterEach(() => bench.stop());

const ALL_DONE = ['detection done', 'update done', 'configuration done', 'response done'];
const RIGHT = { alpha: 'alpha.nf.board-1-0', beta: 'beta.nf.0' };
const LOADED = RIGHT.alpha;
const LOAD = {
  slot: 0,
  module: 'alpha',
  kind: 'partial',
  policy: 'hold',
  error: null,
  modelled_s: 1,
  measured_s: 1,
  bytes: 1000,
  held: 3,
  lost: 7,
  bypassed: 0,
} as const;
const LEFT = { alpha: 'alpha.nf.0', beta: 'beta.nf.board-1-0' };

/** Requests a swap, kills the server at the point, and returns the outcome after a restart. */
async function swapKilledAt(point: KillPoint): Promise<{ run: Reconfiguration | null; reached: boolean }> {
  const { alpha: where } = await bench.places();
  const [goes, leaves] = where === LEFT.alpha ? [alpha, beta] : [beta, alpha];
  const known = new Set((await bench.runs()).map(({ id }) => id));
  const isDead = killAt(bench.server.running.store, point);
  const body = JSON.stringify({ nf: goes, to: 'board', displaces: [leaves] });
  await bench.api.request('createReconfiguration', { body });
  const newest = async () => (await bench.runs()).find(({ id }) => !known.has(id));
  const isOver = (run?: Reconfiguration) => run !== undefined && run.state !== 'running';
  await until('the kill or the end', async () => isDead() || isOver(await newest()));
  const reached = isDead();
  await bench.restart();
  const found = await newest();
  return { run: found ? await bench.ended(found.id) : null, reached };
}

/** Nothing was requested twice, and everything requested was done. */
async function expectOnce(run: Reconfiguration, changes: string[]): Promise<void> {
  const operations = await bench.operationsOf(run.id);
  expect(operations.map(({ id }) => id.slice(run.id.length + 1))).toEqual(changes);
  const accepted = await bench.eventsOf('operation.started');
  for (const { id } of operations) expect(accepted.filter(({ subject }) => subject === id)).toHaveLength(1);
}

/** Stages follow each other without gaps and in chronological order. */
function expectInOrder({ stages, started_ms, ended_ms }: Reconfiguration): void {
  const ran = stages.filter((stage) => stage.started_ms !== null);
  expect(ran[0]!.started_ms).toBe(started_ms);
  expect(ran.at(-1)!.ended_ms).toBe(ended_ms);
  ran.slice(1).forEach((stage, i) => {
    expect(stage.started_ms).toBe(ran[i]!.ended_ms);
  });
  for (const stage of ran) expect(stage.ended_ms! - stage.started_ms!).toBeGreaterThanOrEqual(0);
}

/** Kills the server at one write of a swap after the other; returns the stages that were resumed. */
async function interruptedAtEachWrite(when: 'before' | 'after'): Promise<Set<string>> {
  const interrupted = new Set<string>();
  for (let write = 1; ; write++) {
    const before = await bench.places();
    const { run, reached } = await swapKilledAt({ write, when });
    if (!run) {
      expect(await bench.places()).toEqual(before);
      continue;
    }
    expect(run.state, `${when} write ${write}: ${run.detail}`).toBe('completed');
    expect(stagesOf(run)).toEqual(ALL_DONE);
    expectInOrder(run);
    expect(await bench.places()).toEqual(before.alpha === LEFT.alpha ? RIGHT : LEFT);
    await expectOnce(run, ['update', 'configuration']);
    const told = (await bench.eventsOf('reconfiguration.')).filter(({ subject }) => subject === run.id);
    expect(told.filter(({ type }) => type === 'reconfiguration.completed')).toHaveLength(1);
    for (const { data } of eventsOf(told, 'reconfiguration.resumed')) interrupted.add(String(data.stage));
    if (!reached) break;
  }
  return interrupted;
}

describe('a reconfiguration that a kill of the server interrupts', () => {
  it.each(['before', 'after'] as const)('%s any of its writes is completed, each change made once', async (when) => {
    await bench.move(beta, 'board', { slot: SLOT });
    const interrupted = new Set<string>();
    const stages = ['configuration', 'detection', 'response', 'update'];
    // Writes of other parts come in between, so that a pass may miss the one write of a short stage.
    for (let pass = 1; pass === 1 || (pass <= 3 && interrupted.size < stages.length); pass++)
      for (const stage of await interruptedAtEachWrite(when)) interrupted.add(stage);
    expect([...interrupted].sort()).toEqual(stages);
  });

  it('after any write from the load on is rolled back if the load fails', async () => {
    await bench.move(beta, 'board', { slot: SLOT });
    bench.board.loadErrors.set(LOADED, 'board-1 slot 0: reconfig CRC error');
    for (let write = 1; ; write++) {
      const once = () => bench.board.spec!.instances.some(({ id }) => id === LOADED);
      const { run, reached } = await swapKilledAt({ write, when: 'after', once });
      expect(await bench.places()).toEqual(LEFT);
      expect(run!.state, `after write ${write}: ${run!.detail}`).toBe('rolled-back');
      expect(run!.detail).toMatch(/reconfig CRC error$/);
      // A configuration that fails is taken back by its own operation (decision 0030).
      await expectOnce(run!, ['update', 'configuration', 'back-to-board']);
      if (!reached) break;
    }
  });
});

/** Begins a swap whose load does not finish. */
async function swapInConfiguration(): Promise<string> {
  await bench.move(beta, 'board', { slot: SLOT });
  bench.board.pending.add(LOADED);
  const id = await bench.ask(alpha, 'board', { displaces: [beta] });
  await until('the load begins', async () => (await bench.run(id)).stages[2]!.state === 'running');
  return id;
}

describe('a reconfiguration that a stop of the server interrupts', () => {
  it('is resumed, says so, and reports the true duration of its stage', async () => {
    const id = await swapInConfiguration();
    const stopped = Date.now();
    let back = 0;
    await bench.restart({
      meanwhile: async () => {
        bench.board.pending.clear();
        bench.board.lastLoad = LOAD;
        back = await until('time passes', () => Date.now() > stopped && Date.now());
      },
    });
    const run = await bench.ended(id);
    expect(run).toMatchObject({ state: 'completed', slot: SLOT, loads: [LOAD], packets_lost: 7 });
    const { started_ms, ended_ms } = run.stages[2]!;
    expect(started_ms).toBeLessThanOrEqual(stopped);
    expect(ended_ms).toBeGreaterThanOrEqual(back);
    const [resumed] = await bench.eventsOf('reconfiguration.resumed');
    expect(resumed).toMatchObject({
      subject: id,
      message: 'Reconfiguration resumed after a restart of the server, in stage configuration',
    });
    expect((await bench.eventsOf('reconfiguration.completed')).at(-1)).toMatchObject({
      subject: id,
      data: { duration_ms: run.ended_ms! - run.started_ms },
    });
  });

  it('is rolled back if its slot no longer works', async () => {
    const id = await swapInConfiguration();
    bench.board.pending.clear();
    bench.board.loadErrors.set(LOADED, 'board-1 slot 0: no answer');
    await bench.restart();
    expect(await bench.ended(id)).toMatchObject({ state: 'rolled-back', detail: expect.stringContaining('no answer') });
    expect(await bench.places()).toEqual(LEFT);
  });

  it('blocks other reconfigurations in the meantime, manual or by policy', async () => {
    const id = await swapInConfiguration();
    const threshold = { metric: 'pps', up: 10, down: 1, for_s: 0.5 };
    const body = { title: 'alpha', nf: alpha, threshold, displaces: [beta], cooldown_s: 0 };
    await bench.api.call('createReconfigurationPolicy', { body });
    await bench.restart();
    const traffic = setInterval(() => {
      for (const agent of bench.server.agents.values()) agent.sample(1000);
    }, 50);
    try {
      await until('the policy is above its threshold', async () => {
        const [policy] = (await bench.api.call('listReconfigurationPolicies')).items;
        return policy!.state === 'above';
      });
      const other = { nf: beta, to: 'software' };
      const refusal = await bench.post('createReconfiguration', other);
      expect(refusal).toMatchObject({ status: 409, body: { detail: expect.stringContaining(id) } });
      bench.board.pending.clear();
      bench.board.reach();
      expect((await bench.ended(id)).state).toBe('completed');
      const since = Date.now();
      await until('further samples', () => Date.now() - since > 1200);
      expect((await bench.runs()).map(({ cause }) => cause)).toEqual(['manual', 'manual']);
    } finally {
      clearInterval(traffic);
    }
  });

  /** Kills the server as soon as it has stored that an NF leaves a faulty slot. */
  async function killedLeaving(): Promise<void> {
    await bench.move(alpha, 'board', { slot: SLOT });
    const isDead = killAt(bench.server.running.store, {
      write: 1,
      when: 'after',
      storing: '"cause":"fallback"',
    });
    bench.board.faulty.add('board-1/0');
    bench.board.reach();
    await until('the fall-back is stored', isDead);
  }

  it('vacates a slot that is still reported faulty when the agent is back', async () => {
    await killedLeaving();
    await bench.restart();
    const [fallback] = await bench.runs();
    expect(await bench.ended(fallback!.id)).toMatchObject({ cause: 'fallback', state: 'completed' });
    expect(await bench.places()).toMatchObject({ alpha: LEFT.alpha });
  });

  it('is completed if its operation was only blocked by the stop of the server', async () => {
    const id = await swapInConfiguration();
    const { store } = bench.server.running;
    const [key, field] = ['orrery:default:operations', `${id}.configuration`];
    const stored = JSON.parse((await store.redis.hget(key, field))!);
    const error = { detail: 'fabric: the twin is not running', errors: [] };
    const stuck = { ...stored.value, state: 'FAILED_TEMP', error };
    killAt(store, { write: 1, when: 'before' });
    await store.redis.hset(key, field, JSON.stringify({ ...stored, value: stuck }));
    await bench.restart();
    await until('it goes on', async () => (await bench.eventsOf('reconfiguration.resumed')).length > 0);
    const since = Date.now();
    await until('a look at the operation', () => Date.now() - since > 500);
    bench.board.pending.clear();
    bench.board.reach();
    expect((await bench.ended(id)).state).toBe('completed');
  });

  it('is refused if the slot to vacate works again', async () => {
    await killedLeaving();
    bench.board.faulty.clear();
    bench.board.reach();
    await bench.restart();
    const [fallback] = await bench.runs();
    expect(await bench.ended(fallback!.id)).toMatchObject({
      cause: 'fallback',
      state: 'refused',
      detail: 'The NFs on boards work again.',
    });
    expect(await bench.places()).toMatchObject({ alpha: RIGHT.alpha });
  });
});
