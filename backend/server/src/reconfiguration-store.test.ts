import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DeploymentsService } from './modules/deployments/deployments.service.js';
import { ProblemError } from './platform/problem.js';
import { BoardBench, SLOT, stagesOf } from './testing/board-bench.js';
import { loseAnswers } from './testing/lost-answers.js';
import { until } from './testing/wait.js';

const ALL_DONE = ['detection done', 'update done', 'configuration done', 'response done'];
const KEY = 'orrery:default:reconfigurations';

let bench: BoardBench;

beforeEach(async () => {
  bench = await BoardBench.start();
});
afterEach(() => bench.stop());

/** Makes the store refuse all writes until it is back, and counts them. */
function takeStoreAway() {
  const { store } = bench.server.running;
  const transact = store.transact.bind(store);
  const outage = {
    refused: 0,
    end: () => {
      store.transact = transact;
    },
  };
  store.transact = async () => {
    outage.refused++;
    throw new Error('Connection is closed.');
  };
  return outage;
}

async function runsOfLoop(): Promise<number> {
  const { items } = await bench.api.call('listLoops');
  return items.find(({ id }) => id === 'reconfiguration')!.runs;
}

/** Makes the board change its state repeatedly, each time reported to the server. */
async function hearMuch(times: number): Promise<void> {
  const heard = async () => (await bench.api.call('listAccelerators')).items[0]!.slots[0]!.state;
  for (let n = 0; n < times; n++) {
    const broken = n % 2 === 0;
    if (broken) bench.board.faulty.add('board-1/0');
    else bench.board.faulty.delete('board-1/0');
    bench.board.reach();
    await until('the server heard of it', async () => ((await heard()) === 'faulty') === broken);
  }
}

it('a reconfiguration survives a store outage, whatever is reported in the meantime, and retries once a second', async () => {
  const { alpha } = bench;
  const id = await bench.ask(alpha, 'board', { slot: SLOT });
  const outage = takeStoreAway();
  const beganMs = performance.now();
  const runs = await runsOfLoop();
  await until('it was tried', () => outage.refused > 0);
  await hearMuch(150);
  expect((await runsOfLoop()) - runs).toBeLessThanOrEqual(2 + (performance.now() - beganMs) / 500);
  expect((await bench.run(id)).state).toBe('running');
  outage.end();
  const run = await bench.ended(id);
  expect(run.detail).toBeNull();
  expect(stagesOf(run)).toEqual(['detection done', 'update skipped', ...ALL_DONE.slice(2)]);
  expect(await bench.places()).toMatchObject({ alpha: 'alpha.nf.board-1-0' });
  const next = await bench.move(alpha, 'software');
  expect(next.state).toBe('completed');
});

it('a reconfiguration continues if the reply to the end of its operation was lost', async () => {
  const { alpha } = bench;
  let lost = 0;
  loseAnswers(bench.server.running.store, ({ id, state }) => {
    return id.endsWith('.configuration') && state === 'COMPLETED' && lost++ === 0;
  });
  const run = await bench.move(alpha, 'board', { slot: SLOT });
  expect(run).toMatchObject({ state: 'completed', detail: null });
  expect(lost).toBe(1);
  expect((await bench.move(alpha, 'software')).state).toBe('completed');
});

/** Makes changes fail with the given error; null lets them succeed. */
function onChange(errorOf: (operation: string) => Error | null) {
  const { change } = DeploymentsService.prototype;
  return vi.spyOn(DeploymentsService.prototype, 'change').mockImplementation(async function (
    this: DeploymentsService,
    ...args: Parameters<typeof change>
  ) {
    const error = errorOf(args[1].id);
    if (error) throw error;
    return change.apply(this, args);
  });
}

describe('a reconfiguration with a failing change', () => {
  afterEach(() => vi.restoreAllMocks());

  it('because a dependency is away retries it', async () => {
    const { alpha } = bench;
    let failures = 0;
    onChange(() => (failures++ === 0 ? new ProblemError(502, 'no answer') : null));
    expect(await bench.move(alpha, 'board', { slot: SLOT })).toMatchObject({ state: 'completed', detail: null });
    expect(failures).toBe(2);
  });

  it('because of an internal error is rolled back, and the next may begin', async () => {
    const { alpha, beta } = bench;
    await bench.move(beta, 'board', { slot: SLOT });
    const before = await bench.places();
    const tries = onChange((id) => (id.endsWith('.configuration') ? new TypeError('x is undefined') : null));
    const run = await bench.move(alpha, 'board', { displaces: [beta] });
    expect(run).toMatchObject({ state: 'rolled-back', detail: 'x is undefined' });
    expect(await bench.places()).toEqual(before);
    expect(tries.mock.calls.map(([, { id }]) => id.replace(`${run.id}.`, ''))).toEqual([
      'update',
      'configuration',
      'back-to-board',
    ]);
    tries.mockRestore();
    expect((await bench.move(alpha, 'board', { displaces: [beta] })).state).toBe('completed');
  });

  it('because of an error that also breaks its rollback is closed as failed, and the next may begin', async () => {
    const { alpha, beta } = bench;
    await bench.move(beta, 'board', { slot: SLOT });
    const tries = onChange((id) => (id.endsWith('.update') ? null : new TypeError(`no ${id.split('.')[1]}`)));
    const run = await bench.move(alpha, 'board', { displaces: [beta] });
    expect(run).toMatchObject({
      state: 'failed',
      detail: 'no configuration; rollback also failed: no back-to-board',
    });
    tries.mockRestore();
    expect((await bench.move(beta, 'board', { slot: SLOT })).state).toBe('completed');
  });
});

it('every unfinished reconfiguration of an earlier server is resumed, oldest first', async () => {
  const { alpha, beta } = bench;
  bench.board.pending.add('alpha.nf.board-1-0');
  const id = await bench.ask(alpha, 'board', { slot: SLOT });
  await until('the load begins', async () => (await bench.run(id)).stages[2]!.state === 'running');
  const { redis } = bench.server.running.store;
  const run = await bench.run(id);
  for (const n of [1, 2]) {
    const left = { ...run, id: `rc-left-${n}`, started_ms: run.started_ms - n };
    await redis.hset(KEY, left.id, JSON.stringify(left));
  }
  bench.board.pending.clear();
  await bench.restart();
  expect(await bench.ended(id)).toMatchObject({ state: 'completed' });
  const runs = await bench.runs();
  expect(runs.map(({ id: each, state }) => [each, state])).toEqual([
    [id, 'completed'],
    ['rc-left-1', 'failed'],
    ['rc-left-2', 'failed'],
  ]);
  expect(runs[2]!.ended_ms).toBeLessThanOrEqual(runs[1]!.ended_ms!);
  expect((await bench.move(beta, 'board')).state).not.toBe('running');
});
