import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Infrastructure, type NfDescriptor, PipelineDefinition, type Reconfiguration } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { REPOSITORY_ROOT } from './platform/config.js';
import { RACK } from './testing/fixtures.js';
import { Scratch, TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const BOARD = {
  id: 'board-1',
  origin: 'twin',
  server: 'server-1',
  device: 'test',
  slots: 1,
  clock_mhz: 100,
  resources: { lut: 1000 },
  bandwidth_bps: 1e9,
  latency_us: 1,
};
const SLOT = { board: 'board-1', slot: 0 };
const WITH_BOARD = Infrastructure.parse({ ...RACK, boards: [BOARD] });

/** The monitor under two other names, each with an implementation for boards. */
function writeCatalogue(folder: string): void {
  const file = join(REPOSITORY_ROOT, 'agents/engine/nfs/monitor/descriptor.json');
  const monitor = JSON.parse(readFileSync(file, 'utf8')) as NfDescriptor;
  for (const id of ['alpha', 'beta']) {
    const cost = { cycles_per_packet: 20, base_latency_us: 1, memory_bytes: 0 };
    const onBoard = { kind: 'board', driver: 'board', cost, resources: { lut: 500 } };
    const descriptor = { ...monitor, id, title: id, implementations: [...monitor.implementations, onBoard] };
    mkdirSync(join(folder, id), { recursive: true });
    writeFileSync(join(folder, id, 'descriptor.json'), JSON.stringify(descriptor));
  }
}

function chain(nf: string, from: string): PipelineDefinition {
  return PipelineDefinition.parse({
    name: nf,
    title: nf,
    traffic_class: { from: [from], rate_bps: 1_000_000 },
    nodes: [
      { id: 'in', kind: 'ingress' },
      { id: 'nf', kind: 'nf', nf },
      { id: 'out', kind: 'egress' },
    ],
    edges: [
      { id: 'e1', from: 'in', to: 'nf' },
      { id: 'e2', from: 'nf', to: 'out' },
    ],
    slos: [{ id: 'fast', kind: 'latency', percentile: 99, max_us: 50_000 }],
  });
}

let server: TestServer;
let alpha: { pipeline_id: string; node_id: string };
let beta: typeof alpha;

beforeEach(async () => {
  const scratch = new Scratch();
  const folder = join(scratch.path, 'nfs');
  writeCatalogue(folder);
  server = await TestServer.start({ twin: true, env: { ORRERY_CATALOGUE: folder } }, scratch);
  await server.bringUp(WITH_BOARD);
  board().boards = { 'board-1': 1 };
  board().reach();
  alpha = { pipeline_id: await deploy(chain('alpha', 'client-1')), node_id: 'nf' };
  beta = { pipeline_id: await deploy(chain('beta', 'client-2')), node_id: 'nf' };
});
afterEach(() => server.stop());

const board = () => server.agents.get('server-1')!;

async function deploy(definition: PipelineDefinition): Promise<string> {
  const { id } = await server.api.call('createPipeline', { body: definition });
  const operation = await server.api.call('createDeployment', { body: { pipeline_id: id } });
  await server.finished(operation.id);
  return id;
}

function ended(id: string): Promise<Reconfiguration> {
  return until(`end of ${id}`, async () => {
    const run = await server.api.call('getReconfiguration', { params: { id } });
    return run.state === 'running' ? null : run;
  });
}

async function move(nf: typeof alpha, to: 'board' | 'software', more: object = {}): Promise<Reconfiguration> {
  const { id } = await server.api.call('createReconfiguration', { body: { nf, to, ...more } });
  return ended(id);
}

async function places(): Promise<Record<string, string>> {
  const { items } = await server.api.call('listNfInstances');
  return Object.fromEntries(items.map(({ nf, id }) => [nf, id]));
}

const stagesOf = ({ stages }: Reconfiguration) => stages.map(({ stage, state }) => `${stage} ${state}`);
const eventsOf = async (prefix: string) => {
  const { items } = await server.api.call('listEvents', { query: { limit: 1000 } });
  return items.filter(({ type }) => type.startsWith(prefix));
};

describe('a reconfiguration', () => {
  it('swaps two NFs in four stages, each begun after the one before it, and tells of each', async () => {
    await move(beta, 'board', { slot: SLOT });
    expect(await places()).toEqual({ alpha: 'alpha.nf.0', beta: 'beta.nf.board-1-0' });
    const told = board().told.length;
    const run = await move(alpha, 'board', { displaces: [beta] });
    expect(run).toMatchObject({ state: 'completed', slot: SLOT, cause: 'manual' });
    expect(run.moves.map(({ nf, from, to }) => `${nf}: ${from} -> ${to}`)).toEqual([
      'beta: board-1 slot 0 -> software',
      'alpha: software -> board-1 slot 0',
    ]);
    expect(stagesOf(run)).toEqual(['detection done', 'update done', 'configuration done', 'response done']);
    const begins = run.stages.map(({ started_ms }) => started_ms!);
    expect(begins).toEqual(begins.toSorted((a, b) => a - b));
    run.stages.slice(0, 3).forEach(({ ended_ms }, i) => {
      expect(ended_ms).toBeLessThanOrEqual(begins[i + 1]!);
    });
    expect(await places()).toEqual({ alpha: 'alpha.nf.board-1-0', beta: 'beta.nf.0' });
    // The slot never has two users, and the new one is there before the fabric leads traffic to it.
    const users = board()
      .told.slice(told)
      .map(({ instances }) => instances.filter((it) => it.board).map(({ id }) => id));
    expect(users.every((list) => list.length <= 1)).toBe(true);
    const stages = await eventsOf('reconfiguration.stage');
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

  it('can be looked at before: a plan on top of a plan, which cannot be deployed before it', async () => {
    await move(beta, 'board', { slot: SLOT });
    const leave = { implementations: [{ ...beta, on: 'software' }] };
    const first = await server.api.call('createPlan', { body: leave });
    const load = { implementations: [{ ...alpha, on: 'board', slot: SLOT }], on_top_of: first.id };
    const then = await server.api.call('createPlan', { body: load });
    expect(then).toMatchObject({ feasible: true, base_plan: first.id, diff: { added: ['alpha.nf.board-1-0'] } });
    const early = await server.api.request('createDeployment', { body: JSON.stringify({ plan_id: then.id }) });
    expect(early).toMatchObject({ status: 409, body: { errors: [{ code: 'stale-plan' }] } });
  });

  it('moves flow state with the NF', async () => {
    await move(beta, 'board', { slot: SLOT });
    const asked = [...server.agents.values()].flatMap(({ calls }) => calls.map((call) => call));
    expect(asked.map(({ method, instance_id }) => `${method} ${instance_id}`)).toContain('export_state beta.nf.0');
  });

  it('that cannot be loaded is taken back: the old path was never left', async () => {
    const before = await places();
    board().loadErrors.set('alpha.nf.board-1-0', 'board-1 slot 0: reconfig CRC error');
    const run = await move(alpha, 'board', { slot: SLOT });
    expect(run.state).toBe('rolled-back');
    expect(run.detail).toContain('reconfig CRC error');
    expect(stagesOf(run)).toEqual(['detection done', 'update skipped', 'configuration failed', 'response skipped']);
    expect(await places()).toEqual(before);
    const fabric = server.scratch.twinJournal().filter(({ call }) => call === 'PUT /fabric');
    expect(JSON.stringify(fabric.at(-1)!.body.rules)).not.toContain('board-1');
    const { items } = await server.api.call('listDeployments');
    expect(items.map(({ state }) => state)).toEqual(['running', 'running']);
  });

  it('falls back to software when the board does not work, and says so', async () => {
    await move(alpha, 'board', { slot: SLOT });
    board().faulty.add('board-1/0');
    board().reach();
    const fallback = await until('the fallback', async () => {
      const { items } = await server.api.call('listReconfigurations');
      const [newest] = items;
      return newest?.cause === 'fallback' && newest.state !== 'running' ? newest : null;
    });
    expect(fallback).toMatchObject({ state: 'completed', moves: [{ nf: 'alpha', to: 'software' }] });
    expect(stagesOf(fallback)).toEqual(['detection done', 'update done', 'configuration skipped', 'response done']);
    expect(await places()).toMatchObject({ alpha: 'alpha.nf.0' });
    expect(board().spec!.instances.every((it) => !it.board)).toBe(true);
    expect((await eventsOf('slot.state')).at(-1)).toMatchObject({ severity: 'error', data: { state: 'faulty' } });
    const again = await move(alpha, 'board', { slot: SLOT });
    expect(again).toMatchObject({ state: 'rolled-back' });
    expect(await places()).toMatchObject({ alpha: 'alpha.nf.0' });
  });

  it('whose load fails gives the slot back to the NF that made room', async () => {
    await move(beta, 'board', { slot: SLOT });
    const before = await places();
    board().loadErrors.set('alpha.nf.board-1-0', 'board-1 slot 0: reconfig CRC error');
    const run = await move(alpha, 'board', { displaces: [beta] });
    expect(run).toMatchObject({ state: 'rolled-back', detail: expect.stringContaining('reconfig CRC error') });
    expect(await places()).toEqual(before);
  });

  it('by a full load asks that everybody on the board may be displaced', async () => {
    await move(beta, 'board', { slot: SLOT });
    const run = await move(alpha, 'board', { slot: SLOT, load: 'full' });
    expect(run).toMatchObject({ state: 'refused', detail: expect.stringContaining('beta.nf off its board') });
  });

  it('is refused in words when there is no room, and errors name the field', async () => {
    await move(beta, 'board', { slot: SLOT });
    const run = await move(alpha, 'board', { slot: SLOT });
    expect(run).toMatchObject({ state: 'refused' });
    expect(run.detail).toContain('board-1 slot 0 needs 1 free slots');
    const wrong = (body: object) => server.api.request('createReconfiguration', { body: JSON.stringify(body) });
    expect((await wrong({ nf: { ...alpha, node_id: 'x' }, to: 'board' })).status).toBe(404);
    const again = await wrong({ nf: beta, to: 'board' });
    expect(again).toMatchObject({ status: 422, body: { errors: [{ pointer: '/slot' }] } });
    expect(await wrong({ nf: alpha, to: 'software' })).toMatchObject({ body: { errors: [{ pointer: '/to' }] } });
  });

  it('by policy begins when the load stays high, and is taken back when it stays low', async () => {
    await move(beta, 'board', { slot: SLOT });
    const body = {
      title: 'alpha to a board',
      nf: alpha,
      threshold: { metric: 'pps', up: 400, down: 100, for_s: 0.5 },
      displaces: [beta],
      cooldown_s: 0,
    };
    await server.api.call('createReconfigurationPolicy', { body });
    let packets = 0;
    const traffic = setInterval(() => {
      for (const agent of server.agents.values()) agent.sample(packets);
    }, 50);
    try {
      packets = 1000;
      const high = await until('the swap', async () => (await newest('load-high')) ?? null);
      expect(high.trigger).toMatch(/packets\/s for 0.5 s, above 400 packets\/s/);
      expect(await places()).toEqual({ alpha: 'alpha.nf.board-1-0', beta: 'beta.nf.0' });
      packets = 0;
      const low = await until('the way back', async () => (await newest('load-low')) ?? null);
      expect(stagesOf(low)).toEqual(['detection done', 'update done', 'configuration done', 'response done']);
      expect(await places()).toEqual({ alpha: 'alpha.nf.0', beta: 'beta.nf.board-1-0' });
    } finally {
      clearInterval(traffic);
    }
  });

  async function newest(cause: Reconfiguration['cause']) {
    const { items } = await server.api.call('listReconfigurations');
    return items.find((run) => run.cause === cause && run.state === 'completed');
  }

  it('does not displace what software cannot carry either', async () => {
    await move(beta, 'board', { slot: SLOT });
    const threshold = { metric: 'pps', up: 10, down: 1, for_s: 60 };
    await server.api.call('createReconfigurationPolicy', { body: { title: 'beta', nf: beta, threshold } });
    const busy = setInterval(() => {
      for (const agent of server.agents.values()) agent.sample(1000);
    }, 50);
    try {
      await until('its load', async () => {
        const { items } = await server.api.call('listReconfigurationPolicies');
        return (items[0]?.load_now ?? 0) > 10;
      });
      const run = await move(alpha, 'board', { displaces: [beta] });
      expect(run).toMatchObject({ state: 'refused', detail: expect.stringContaining('cannot make room') });
      expect(await places()).toEqual({ alpha: 'alpha.nf.0', beta: 'beta.nf.board-1-0' });
    } finally {
      clearInterval(busy);
    }
  });
});

describe('slots', () => {
  it('that are reserved are left alone by plans that do not name them', async () => {
    const reserved = await server.api.call('reserveSlot', {
      params: { id: 'board-1', slot: 0 },
      body: { reason: 'tests' },
    });
    expect(reserved).toMatchObject({ ...SLOT, reason: 'tests' });
    expect(await move(alpha, 'board')).toMatchObject({ state: 'refused' });
    expect(await move(alpha, 'board', { slot: SLOT })).toMatchObject({ state: 'completed' });
    const [accelerator] = (await server.api.call('listAccelerators')).items;
    expect(accelerator!.slots[0]).toMatchObject({ state: 'active', module: 'alpha', pipeline_id: alpha.pipeline_id });
    expect(accelerator!.slots[0]!.reservation).toMatchObject({ reason: 'tests' });
    await server.api.call('releaseSlot', { params: { id: 'board-1', slot: 0 } });
    expect((await server.api.request('releaseSlot', { params: { id: 'board-1', slot: 0 } })).status).toBe(404);
    expect((await server.api.request('reserveSlot', { params: { id: 'board-9', slot: 0 }, body: '{}' })).status).toBe(
      404,
    );
  });

  it('and policies outlive the server', async () => {
    await server.api.call('reserveSlot', { params: { id: 'board-1', slot: 0 }, body: {} });
    const threshold = { metric: 'bps', up: 10, down: 1 };
    await server.api.call('createReconfigurationPolicy', { body: { title: 'p', nf: alpha, threshold } });
    const { scratch } = server;
    const env = { ORRERY_CATALOGUE: join(scratch.path, 'nfs') };
    await server.pause();
    server = await TestServer.start({ twin: true, env }, scratch);
    const [accelerator] = (await server.api.call('listAccelerators')).items;
    expect(accelerator).toMatchObject({ state: 'absent', slots: [{ state: 'unknown' }] });
    expect(accelerator!.slots[0]!.reservation).not.toBeNull();
    expect((await server.api.call('listReconfigurationPolicies')).items).toMatchObject([{ title: 'p', threshold }]);
  });
});

describe('a move by a plan that changes no version', () => {
  it('is an operation on the chain of the NF that moves, whose instance then tells what runs it', async () => {
    const implementations = [{ ...beta, on: 'board' as const, slot: SLOT }];
    const plan = await server.api.call('createPlan', { body: { implementations } });
    const operation = await server.api.call('createDeployment', { body: { plan_id: plan.id } });
    expect(operation.subject).toBe(beta.pipeline_id);
    await server.finished(operation.id);
    const { items } = await server.api.call('listNfInstances');
    expect(items.map(({ nf, driver, slot }) => ({ nf, driver, slot }))).toEqual([
      { nf: 'alpha', driver: 'engine', slot: null },
      { nf: 'beta', driver: 'board', slot: SLOT },
    ]);
    expect((await eventsOf('operation.started')).at(-1)).toMatchObject({ message: 'Deployment of beta' });
  });
});
