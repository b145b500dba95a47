import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { BOARD, BoardBench, OTHER_BOARD, OTHER_SLOT, SLOT } from './testing/board-bench.js';
import { killAt } from './testing/kill-point.js';
import { until } from './testing/wait.js';

let bench: BoardBench;

beforeAll(async () => {
  bench = await BoardBench.start({ ORRERY_STEP_TIMEOUT_MS: '15000' }, [BOARD, OTHER_BOARD]);
});
afterAll(() => bench.stop());
/** Each case begins with both in software. */
beforeEach(async () => {
  bench.board.loadErrors.clear();
  bench.board.pending.clear();
  for (const nf of ['alpha', 'beta'] as const)
    if ((await bench.places())[nf] !== IN_SOFTWARE[nf])
      expect((await bench.move(bench[nf], 'software')).state).toBe('completed');
});

const ALPHA = 'alpha.nf.board-1-0';
const BETA = 'beta.nf.board-2-0';
const ON_BOARDS = { alpha: ALPHA, beta: BETA };
const IN_SOFTWARE = { alpha: 'alpha.nf.0', beta: 'beta.nf.0' };

/** Alpha moves to the first board and beta to the other, at the same time. */
function bothToBoards(): Promise<[string, string]> {
  const { alpha, beta } = bench;
  return Promise.all([bench.ask(alpha, 'board', { slot: SLOT }), bench.ask(beta, 'board', { slot: OTHER_SLOT })]);
}

/** The last that were asked for. */
async function latest(limit: number) {
  return (await bench.api.call('listReconfigurations', { query: { limit } })).items;
}

async function changesOf(id: string): Promise<string[]> {
  return (await bench.operationsOf(id)).map((operation) => `${operation.id.slice(id.length + 1)} ${operation.state}`);
}

it('of different boards and chains run concurrently, each plan on top of the other', async () => {
  bench.board.pending.add(ALPHA);
  const [first, second] = await bothToBoards();
  expect((await latest(2)).map(({ state }) => state)).toEqual(['running', 'running']);
  bench.board.pending.clear();
  bench.board.reach();
  expect([(await bench.ended(first)).state, (await bench.ended(second)).state]).toEqual(['completed', 'completed']);
  expect(await bench.places()).toEqual(ON_BOARDS);
  const [one, other] = [...(await bench.operationsOf(first)), ...(await bench.operationsOf(second))].sort(
    (a, b) => a.started_ms - b.started_ms,
  );
  const plan = await bench.api.call('getPlan', { params: { id: other!.plan_id! } });
  expect(plan.base_plan).toBe(one!.plan_id);
});

it('that overlap do not: the second is refused, naming the first, by chain and by board', async () => {
  const { alpha, beta } = bench;
  bench.board.pending.add(ALPHA);
  const first = await bench.ask(alpha, 'board', { slot: SLOT });
  const sameChain = await bench.post('createReconfiguration', { nf: alpha, to: 'board', slot: OTHER_SLOT });
  const sameBoard = await bench.post('createReconfiguration', { nf: beta, to: 'board', slot: SLOT });
  for (const refusal of [sameChain, sameBoard])
    expect(refusal).toMatchObject({ status: 409, body: { detail: expect.stringContaining(first) } });
  bench.board.pending.clear();
  bench.board.reach();
  await bench.ended(first);
  expect((await bench.move(beta, 'board', { slot: OTHER_SLOT })).state).toBe('completed');
});

it('the rollback of one that fails does not disturb the other', async () => {
  bench.board.loadErrors.set(ALPHA, 'board-1 slot 0: reconfig CRC error');
  const [failing, other] = await bothToBoards();
  expect(await bench.ended(failing)).toMatchObject({
    state: 'rolled-back',
    detail: expect.stringContaining('reconfig CRC error'),
  });
  expect(await bench.ended(other)).toMatchObject({ state: 'completed', detail: null });
  expect(await changesOf(failing)).toEqual(['configuration ROLLED_BACK']);
  expect(await changesOf(other)).toEqual(['configuration COMPLETED']);
  expect(await bench.places()).toEqual({ alpha: IN_SOFTWARE.alpha, beta: BETA });
});

it('both resume after a kill of the server at any write, each change made once', async () => {
  for (let write = 1; ; write++) {
    const known = new Set((await latest(8)).map(({ id }) => id));
    const goesUp = (await bench.places()).alpha === IN_SOFTWARE.alpha;
    const isDead = killAt(bench.server.running.store, { write, when: 'after' });
    const asked = [bench.alpha, bench.beta].map((nf, i) =>
      bench.post(
        'createReconfiguration',
        goesUp ? { nf, to: 'board', slot: [SLOT, OTHER_SLOT][i] } : { nf, to: 'software' },
      ),
    );
    await Promise.all(asked);
    const mine = async () => (await latest(4)).filter(({ id }) => !known.has(id));
    await until('the kill or the end', async () => {
      return isDead() || (await mine()).filter(({ state }) => state !== 'running').length === 2;
    });
    const reached = isDead();
    await bench.restart();
    const runs = await mine();
    for (const { id } of runs) {
      const run = await bench.ended(id);
      expect(run.state, `write ${write}: ${run.detail}`).toBe('completed');
      expect(await changesOf(id)).toEqual([goesUp ? 'configuration COMPLETED' : 'update COMPLETED']);
    }
    // What was not requested before the kill is unchanged.
    const left = new Set(runs.flatMap(({ moves }) => moves.map(({ nf }) => nf)));
    const [there, here] = goesUp ? [ON_BOARDS, IN_SOFTWARE] : [IN_SOFTWARE, ON_BOARDS];
    for (const nf of ['alpha', 'beta'] as const)
      expect((await bench.places())[nf]).toBe((left.has(nf) ? there : here)[nf]);
    if (!reached) break;
    if (left.size === 2) continue;
    for (const nf of ['alpha', 'beta'] as const) {
      if (left.has(nf)) continue;
      const more = goesUp ? { slot: nf === 'alpha' ? SLOT : OTHER_SLOT } : {};
      expect((await bench.move(bench[nf], goesUp ? 'board' : 'software', more)).state).toBe('completed');
    }
  }
}, 600_000);
