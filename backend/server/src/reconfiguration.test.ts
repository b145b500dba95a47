import type { Reconfiguration } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BoardBench, type DeployedNf, SLOT, stagesOf } from './testing/board-bench.js';
import { until } from './testing/wait.js';

let bench: BoardBench;
let alpha: DeployedNf;
let beta: DeployedNf;

beforeEach(async () => {
  bench = await BoardBench.start();
  ({ alpha, beta } = bench);
});
afterEach(() => bench.stop());

describe('a reconfiguration', () => {
  it('swaps two NFs in four stages, one after the other, and logs each', async () => {
    await bench.move(beta, 'board', { slot: SLOT });
    expect(await bench.places()).toEqual({ alpha: 'alpha.nf.0', beta: 'beta.nf.board-1-0' });
    const told = bench.board.told.length;
    const run = await bench.move(alpha, 'board', { displaces: [beta] });
    expect(run).toMatchObject({ state: 'completed', slot: SLOT, cause: 'manual' });
    expect(run.moves.map(({ nf, from, to }) => ({ nf, from, to }))).toEqual([
      { nf: 'beta', from: { on: 'board', slot: SLOT }, to: { on: 'software' } },
      { nf: 'alpha', from: { on: 'software' }, to: { on: 'board', slot: SLOT } },
    ]);
    expect(stagesOf(run)).toEqual(['detection done', 'update done', 'configuration done', 'response done']);
    const begins = run.stages.map(({ started_ms }) => started_ms!);
    expect(begins).toEqual(begins.toSorted((a, b) => a - b));
    run.stages.slice(0, 3).forEach(({ ended_ms }, i) => {
      expect(ended_ms).toBeLessThanOrEqual(begins[i + 1]!);
    });
    expect(await bench.places()).toEqual({ alpha: 'alpha.nf.board-1-0', beta: 'beta.nf.0' });
    // The slot never has two users, and the new one is ready before the fabric steers traffic to it.
    const users = bench.board.told
      .slice(told)
      .map(({ instances }) => instances.filter((it) => it.board).map(({ id }) => id));
    expect(users.every((list) => list.length <= 1)).toBe(true);
    const stages = await bench.eventsOf('reconfiguration.stage');
    const mine = stages.filter(({ subject }) => subject === run.id).map(({ data }) => `${data.stage} ${data.state}`);
    expect(mine).toEqual([
      'detection running',
      'detection done',
      'update running',
      'update done',
      'configuration running',
      'configuration done',
      'response running',
      'response done',
    ]);
  });

  it('can be previewed: a plan on top of a plan, which cannot be deployed before it', async () => {
    await bench.move(beta, 'board', { slot: SLOT });
    const leave = { implementations: [{ ...beta, on: 'software' }] };
    const first = await bench.api.call('createPlan', { body: leave });
    const load = { implementations: [{ ...alpha, on: 'board', slot: SLOT }], on_top_of: first.id };
    const then = await bench.api.call('createPlan', { body: load });
    expect(then).toMatchObject({ feasible: true, base_plan: first.id, diff: { added: ['alpha.nf.board-1-0'] } });
    const early = await bench.api.request('createDeployment', { body: JSON.stringify({ plan_id: then.id }) });
    expect(early).toMatchObject({ status: 409, body: { errors: [{ code: 'stale-plan' }] } });
  });

  it('to any free slot names the selected one', async () => {
    const run = await bench.move(beta, 'board');
    expect(run).toMatchObject({
      state: 'completed',
      slot: SLOT,
      moves: [{ from: { on: 'software' }, to: { on: 'board', slot: SLOT } }],
    });
    expect(run.stages[2]).toMatchObject({ stage: 'configuration', detail: 'beta, partial load of board-1 slot 0' });
  });

  it('moves flow state with the NF', async () => {
    await bench.move(beta, 'board', { slot: SLOT });
    const asked = [...bench.server.agents.values()].flatMap(({ calls }) => calls.map((call) => call));
    expect(asked.map(({ method, instance_id }) => `${method} ${instance_id}`)).toContain('export_state beta.nf.0');
  });

  it('that cannot be loaded is rolled back: traffic never left the old path', async () => {
    const before = await bench.places();
    bench.board.loadErrors.set('alpha.nf.board-1-0', 'board-1 slot 0: reconfig CRC error');
    const run = await bench.move(alpha, 'board', { slot: SLOT });
    expect(run.state).toBe('rolled-back');
    expect(run.detail).toContain('reconfig CRC error');
    expect(stagesOf(run)).toEqual(['detection done', 'update skipped', 'configuration failed', 'response skipped']);
    expect(await bench.places()).toEqual(before);
    const specs = [...bench.server.switches.values()].map(({ spec }) => spec);
    expect(JSON.stringify(specs)).not.toContain('board-1');
    const { items } = await bench.api.call('listDeployments');
    expect(items.map(({ state }) => state)).toEqual(['running', 'running']);
  });

  it('whose load fails returns the slot to the displaced NF', async () => {
    await bench.move(beta, 'board', { slot: SLOT });
    const before = await bench.places();
    bench.board.loadErrors.set('alpha.nf.board-1-0', 'board-1 slot 0: reconfig CRC error');
    const run = await bench.move(alpha, 'board', { displaces: [beta] });
    expect(run).toMatchObject({ state: 'rolled-back', detail: expect.stringContaining('reconfig CRC error') });
    expect(await bench.places()).toEqual(before);
  });

  it('by a full load requires permission to displace every NF on the board', async () => {
    await bench.move(beta, 'board', { slot: SLOT });
    const run = await bench.move(alpha, 'board', { slot: SLOT, load: 'full' });
    expect(run).toMatchObject({ state: 'refused', detail: expect.stringContaining('beta.nf off its board') });
  });

  it('is refused with an explanation if there is no room, and errors name the field', async () => {
    await bench.move(beta, 'board', { slot: SLOT });
    const run = await bench.move(alpha, 'board', { slot: SLOT });
    expect(run).toMatchObject({ state: 'refused' });
    expect(run.detail).toContain('board-1 slot 0 needs 1 free slots');
    const wrong = (body: object) => bench.post('createReconfiguration', body);
    const again = await wrong({ nf: beta, to: 'board' });
    expect(again).toMatchObject({ status: 422, body: { errors: [{ pointer: '/slot' }] } });
    expect(await wrong({ nf: alpha, to: 'software' })).toMatchObject({ body: { errors: [{ pointer: '/to' }] } });
  });

  it('by policy begins when the load stays high, and is reversed when it stays low', async () => {
    await bench.move(beta, 'board', { slot: SLOT });
    const body = {
      title: 'alpha to a board',
      nf: alpha,
      threshold: { metric: 'pps', up: 400, down: 100, for_s: 0.5 },
      displaces: [beta],
      cooldown_s: 0,
    };
    await bench.api.call('createReconfigurationPolicy', { body });
    let packets = 0;
    const traffic = setInterval(() => {
      for (const agent of bench.server.agents.values()) agent.sample(packets);
    }, 50);
    try {
      packets = 1000;
      const high = await until('the swap', async () => (await newest('load-high')) ?? null);
      expect(high.trigger).toMatch(/packets\/s for 0.5 s, above 400 packets\/s/);
      expect(await bench.places()).toEqual({ alpha: 'alpha.nf.board-1-0', beta: 'beta.nf.0' });
      packets = 0;
      const low = await until('the way back', async () => (await newest('load-low')) ?? null);
      expect(stagesOf(low)).toEqual(['detection done', 'update done', 'configuration done', 'response done']);
      expect(await bench.places()).toEqual({ alpha: 'alpha.nf.0', beta: 'beta.nf.board-1-0' });
    } finally {
      clearInterval(traffic);
    }
  });

  async function newest(cause: Reconfiguration['cause']) {
    const { items } = await bench.api.call('listReconfigurations');
    return items.find((run) => run.cause === cause && run.state === 'completed');
  }

  it('does not displace an NF whose load exceeds the software capacity', async () => {
    await bench.move(beta, 'board', { slot: SLOT });
    const threshold = { metric: 'pps', up: 10, down: 1, for_s: 60 };
    await bench.api.call('createReconfigurationPolicy', { body: { title: 'beta', nf: beta, threshold } });
    const busy = setInterval(() => {
      for (const agent of bench.server.agents.values()) agent.sample(1000);
    }, 50);
    try {
      await until('its load', async () => {
        const { items } = await bench.api.call('listReconfigurationPolicies');
        return (items[0]?.load_now ?? 0) > 10;
      });
      const run = await bench.move(alpha, 'board', { displaces: [beta] });
      expect(run).toMatchObject({ state: 'refused', detail: expect.stringContaining('cannot make room') });
      expect(await bench.places()).toEqual({ alpha: 'alpha.nf.0', beta: 'beta.nf.board-1-0' });
    } finally {
      clearInterval(busy);
    }
  });
});

describe('slots', () => {
  it('that are reserved are not used by plans that do not name them', async () => {
    const reserved = await bench.api.call('reserveSlot', {
      params: { id: 'board-1', slot: 0 },
      body: { reason: 'tests' },
    });
    expect(reserved).toMatchObject({ ...SLOT, reason: 'tests' });
    expect(await bench.move(alpha, 'board')).toMatchObject({ state: 'refused' });
    expect(await bench.move(alpha, 'board', { slot: SLOT })).toMatchObject({ state: 'completed' });
    const [accelerator] = (await bench.api.call('listAccelerators')).items;
    expect(accelerator!.slots[0]).toMatchObject({ state: 'active', module: 'alpha', chain_id: alpha.chain_id });
    expect(accelerator!.slots[0]!.reservation).toMatchObject({ reason: 'tests' });
    await bench.api.call('releaseSlot', { params: { id: 'board-1', slot: 0 } });
    expect((await bench.api.request('releaseSlot', { params: { id: 'board-1', slot: 0 } })).status).toBe(404);
    expect((await bench.api.request('reserveSlot', { params: { id: 'board-9', slot: 0 }, body: '{}' })).status).toBe(
      404,
    );
  });

  it('are logged as unknown while their agent is silent', async () => {
    await bench.move(alpha, 'board', { slot: SLOT });
    const lastTold = async () => (await bench.eventsOf('slot.state')).at(-1)!.data;
    await bench.board.kill();
    await until('nobody knows what the slot does', async () => (await lastTold()).state === 'unknown');
    await bench.board.connect();
    await until('the slot is seen again', async () => (await lastTold()).state === 'active');
    expect(await lastTold()).toMatchObject({ board: 'board-1', slot: 0, module: 'alpha' });
  });

  it('and policies survive a server restart', async () => {
    await bench.api.call('reserveSlot', { params: { id: 'board-1', slot: 0 }, body: {} });
    const threshold = { metric: 'bps', up: 10, down: 1 };
    await bench.api.call('createReconfigurationPolicy', { body: { title: 'p', nf: alpha, threshold } });
    await bench.restart({ reconnect: false });
    const [accelerator] = (await bench.api.call('listAccelerators')).items;
    expect(accelerator).toMatchObject({ state: 'absent', slots: [{ state: 'unknown' }] });
    expect(accelerator!.slots[0]!.reservation).not.toBeNull();
    expect((await bench.api.call('listReconfigurationPolicies')).items).toMatchObject([{ title: 'p', threshold }]);
  });
});

describe('a move by a plan that changes no version', () => {
  it('is an operation on the chain of the moving NF, whose instance then shows what runs it', async () => {
    const implementations = [{ ...beta, on: 'board' as const, slot: SLOT }];
    const plan = await bench.api.call('createPlan', { body: { implementations } });
    const operation = await bench.api.call('createDeployment', { body: { plan_id: plan.id } });
    expect(operation.subject).toBe(beta.chain_id);
    await bench.server.finished(operation.id);
    const { items } = await bench.api.call('listNfInstances');
    expect(items.map(({ nf, driver, slot }) => ({ nf, driver, slot }))).toEqual([
      { nf: 'alpha', driver: 'engine', slot: null },
      { nf: 'beta', driver: 'board', slot: SLOT },
    ]);
    expect((await bench.eventsOf('operation.started')).at(-1)).toMatchObject({ message: 'Deployment of beta' });
  });
});
