import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Infrastructure, type Operation, type SwitchDriver } from '@orrery/contract';
import { ASSUMED_ABILITIES } from '@orrery/planner';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { isOver } from './ports/operation-log.js';
import { eventsOf } from './testing/events.js';
import { FakeSwitch } from './testing/fake-switch.js';
import { monitorChain, RACK } from './testing/fixtures.js';
import { type Scratch, TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const [LEAF] = RACK.switches;
const DRIVERS = { ovs: ASSUMED_ABILITIES, p4: ASSUMED_ABILITIES, bmv2: ASSUMED_ABILITIES };
/** Long enough for nothing to be late on a slow machine. */
const PATIENT_MS = 60_000;
const IN_TIME = 30_000;

let server: TestServer;
/** Of `server`; null: it does not run. */
let stepTimeoutMs: number | null = null;
/** The newest event of the cases before. */
let since: string;
let leaf: FakeSwitch;
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await stop();
});
afterAll(() => stop());

async function stop(): Promise<void> {
  if (stepTimeoutMs !== null) await server.stop();
  stepTimeoutMs = null;
}

/** Cases with the same patience share a server: each begins with its infrastructure and no chain. */
async function start(patienceMs = PATIENT_MS, infrastructure = RACK): Promise<void> {
  if (stepTimeoutMs === patienceMs) await clear();
  else {
    await stop();
    server = await TestServer.start({ twin: true, env: { ORRERY_STEP_TIMEOUT_MS: String(patienceMs) } });
    stepTimeoutMs = patienceMs;
    await server.bringUp();
  }
  leaf = server.switches.get(LEAF!.id)!;
  if (!isDeepStrictEqual(infrastructure, RACK)) await rebuilt(infrastructure);
  since = await server.newestEvent();
}

/** What the case before left at the switch and in the twin goes, and its driver is the one of the rack again. */
async function clear(): Promise<void> {
  for (const flag of ['held', 'without-bmv2']) rmSync(join(server.scratch.stateDir, 'twin', flag), { force: true });
  Object.assign(leaf, { hold: false, trouble: null, drivers: DRIVERS });
  if ((await driverNow()) !== 'ovs') {
    const { id } = await change('ovs');
    await twinRebuilds('ovs');
    expect((await server.finished(id)).state).toBe('COMPLETED');
  } else await leaf.rebuild('ovs');
  await server.removeChains();
  await rebuilt(RACK);
}

/** The infrastructure, with an agent for each of its switches. */
async function rebuilt(infrastructure: Infrastructure): Promise<void> {
  await server.api.call('putInfrastructure', { body: infrastructure });
  for (const { id } of infrastructure.switches) {
    if (server.switches.has(id)) continue;
    const { token } = await server.api.call('createJoinToken', { body: { node: id } });
    const agent = new FakeSwitch(server.running.url, id, token);
    await agent.connect();
    server.switches.set(id, agent);
  }
  for (const [id, agent] of server.switches) {
    if (infrastructure.switches.some((it) => it.id === id)) continue;
    await agent.kill();
    server.switches.delete(id);
  }
}

const asked = (driver: SwitchDriver) => ({ switch_drivers: [{ switch: LEAF!.id, driver }] });
const planTo = (driver: SwitchDriver) => server.api.call('createPlan', { body: asked(driver) });
const deploy = (plan_id: string) => server.api.call('createDeployment', { body: { plan_id } });
const change = async (driver: SwitchDriver) => deploy((await planTo(driver)).id);
const driverNow = async () => (await server.api.call('getInfrastructure')).switches[0]!.driver;

async function runChain(): Promise<string> {
  const { id } = await server.api.call('createChain', { body: monitorChain('watched') });
  const accepted = await server.api.call('createDeployment', { body: { chain_id: id } });
  expect((await server.finished(accepted.id)).state).toBe('COMPLETED');
  return id;
}

/** Until the step of the switch's driver is as described. */
function stepIs(id: string, holds: (step: Operation['steps'][number]) => boolean): Promise<Operation> {
  return until(
    `a step of ${id}`,
    async () => {
      const operation = await server.operation(id);
      const found = operation.steps.find(({ kind }) => kind === 'change-driver');
      if (found && holds(found)) return operation;
      if (isOver(operation)) throw new Error(JSON.stringify(operation));
      return null;
    },
    IN_TIME,
  );
}

/** What the twin does once it is told of another driver. */
async function twinRebuilds(driver: SwitchDriver): Promise<void> {
  await until('the twin is told', () => {
    const told = server.scratch.toldTwin('PUT /spec').at(-1)?.body.infrastructure?.switches[0]?.driver;
    return told === driver;
  });
  await leaf.rebuild(driver);
}

describe('a change of the driver of a switch', () => {
  it('is planned, waits for the switch by name, and is undone by the reverse plan', async () => {
    await start();
    const chain = await runChain();
    const before = leaf.rules;
    const plan = await planTo('p4');
    expect(plan).toMatchObject({ feasible: true, drivers: [{ switch: LEAF!.id, from: 'ovs', to: 'p4' }] });
    expect(plan.steps).toMatchObject([{ kind: 'change-driver', subject: LEAF!.id, interrupts: [chain] }]);
    const [table] = plan.tables;
    expect(table).toMatchObject({ switch: LEAF!.id, entries: leaf.spec!.entries.length });
    expect(table!.entries_before).toBe(table!.entries);
    expect(await driverNow()).toBe('ovs');

    const accepted = await deploy(plan.id);
    expect(accepted).toMatchObject({ kind: 'infrastructure', subject: LEAF!.id, chains: [], drivers: plan.drivers });
    const waiting = await stepIs(accepted.id, ({ detail }) => detail?.includes('still runs the driver ovs') ?? false);
    expect(waiting.steps).toMatchObject([{ state: 'running' }]);
    await twinRebuilds('p4');
    const done = await server.finished(accepted.id);
    expect(done, done.error?.detail).toMatchObject({ state: 'COMPLETED', steps: [{ state: 'done', detail: null }] });
    expect(await driverNow()).toBe('p4');
    expect(leaf.rules).toEqual(before);
    expect((await server.api.call('getDeployment', { params: { chain_id: chain } })).state).toBe('running');

    const [last] = done.drivers;
    const undo = await planTo(last!.from);
    expect(undo.steps).toMatchObject([{ kind: 'change-driver', subject: LEAF!.id, interrupts: [chain] }]);
    const back = await deploy(undo.id);
    await twinRebuilds('ovs');
    expect((await server.finished(back.id)).state).toBe('COMPLETED');
    expect(await driverNow()).toBe('ovs');
    const { items } = await server.api.call('listEvents', { query: { limit: 1000 } });
    const told = eventsOf(items, 'infrastructure.changed').map(({ message, actor }) => [message, actor]);
    expect(told.slice(-2)).toEqual([
      [`${LEAF!.id} is to run the driver p4`, accepted.by],
      [`${LEAF!.id} is to run the driver ovs`, back.by],
    ]);
  });

  it('is told as the interruption that it is, and by no failure of its switch', async () => {
    await start();
    const chain = await runChain();
    const { id } = await change('p4');
    await stepIs(id, ({ detail }) => detail?.includes('still runs the driver ovs') ?? false);
    leaf.emit('switch.failed', 'its process does not answer');
    const told = async () => {
      const { items } = await server.api.call('listEvents', { query: { limit: 1000, after: since } });
      return items.filter(({ type }) => /^(switch\.|deployment\.(?!running))/.test(type));
    };
    await until('the interruption is told', async () => (await told()).length > 0, IN_TIME);
    await twinRebuilds('p4');
    expect((await server.finished(id)).state).toBe('COMPLETED');
    await until('the chain runs', async () => (await told()).at(-1)?.type === 'deployment.recovered', IN_TIME);
    expect(await told()).toMatchObject([
      {
        type: 'deployment.interrupted',
        severity: 'info',
        subject: chain,
        message: `The planned change of the driver of ${LEAF!.id} interrupts it`,
      },
      { type: 'deployment.recovered' },
    ]);
  });

  it('works where no chain runs', async () => {
    await start();
    const { id } = await change('bmv2');
    await twinRebuilds('bmv2');
    expect((await server.finished(id)).state).toBe('COMPLETED');
    expect(await driverNow()).toBe('bmv2');
  });

  it('gives the former driver back when it is cancelled', async () => {
    await start();
    await runChain();
    const { id } = await change('p4');
    leaf.hold = true;
    await twinRebuilds('p4');
    await stepIs(id, ({ detail }) => detail?.includes('is at generation') ?? false);
    await server.api.call('cancelOperation', { params: { id } });
    leaf.hold = false;
    await twinRebuilds('ovs');
    expect(await server.finished(id)).toMatchObject({ state: 'ROLLED_BACK', cancelled_by: expect.any(String) });
    expect(await driverNow()).toBe('ovs');
  });

  it('is taken back only when the twin is done, whatever the agent of before says meanwhile', async () => {
    await start();
    const chain = await runChain();
    const held = join(server.scratch.stateDir, 'twin/held');
    const deployment = () => server.api.call('getDeployment', { params: { chain_id: chain } });
    writeFileSync(held, '');
    const { id } = await change('p4');
    await stepIs(id, ({ detail }) => detail?.includes('still runs the driver ovs') ?? false);
    await until('the chain is degraded', async () => (await deployment()).state === 'degraded');
    const shown = () => server.api.call('getSwitch', { params: { id: LEAF!.id } });
    // What its agent tells is of the driver that it still runs.
    expect(await shown()).toMatchObject({
      description: { driver: 'ovs' },
      changing: 'still runs the driver ovs, not p4',
      observed: null,
      counted_ms: null,
    });
    await server.api.call('cancelOperation', { params: { id } });
    const told = () => server.scratch.toldTwin('PUT /spec').map(({ body }) => body.infrastructure?.switches[0]?.driver);
    await until('the twin is told to give it back', () => told().slice(-2).join() === 'p4,ovs');
    // It runs ovs and says so, as it did before the twin began: the twin is still about p4.
    leaf.reach();
    const still = 'the twin is still changing its driver to ovs';
    expect(await shown()).toMatchObject({ description: { driver: 'ovs' }, changing: still, observed: null });
    await until('the reason is told', async () => (await deployment()).reason?.includes(still) ?? false, IN_TIME);
    expect((await server.operation(id)).state).toBe('ROLLING_BACK');
    leaf.hold = true;
    await leaf.rebuild('ovs');
    rmSync(held);
    const lacks = `${LEAF!.id}: does not hold its entries yet`;
    await until(
      'its entries are waited for',
      async () => (await deployment()).reason?.includes(lacks) ?? false,
      IN_TIME,
    );
    expect((await server.operation(id)).state).toBe('ROLLING_BACK');
    leaf.hold = false;
    leaf.reach();
    await until('its report is shown again', async () => (await shown()).observed !== null);
    expect(await shown()).not.toHaveProperty('changing');
    expect(await server.finished(id)).toMatchObject({ state: 'ROLLED_BACK' });
    await until('the chain runs', async () => (await deployment()).state === 'running');
  });

  it('takes its turn: the next one is planned on top of it, and again where it does not come about', async () => {
    await start();
    await runChain();
    const first = await change('p4');
    const second = await planTo('bmv2');
    expect(second.drivers).toEqual([{ switch: LEAF!.id, from: 'p4', to: 'bmv2' }]);
    const queued = await deploy(second.id);
    await stepIs(first.id, ({ state }) => state === 'running');
    expect((await server.operation(queued.id)).steps).toMatchObject([{ state: 'pending' }]);
    await twinRebuilds('p4');
    expect((await server.finished(first.id)).state).toBe('COMPLETED');
    await twinRebuilds('bmv2');
    expect((await server.finished(queued.id)).state).toBe('COMPLETED');

    const third = await change('p4');
    const fourth = await change('ovs');
    await stepIs(third.id, ({ state }) => state === 'running');
    await server.api.call('cancelOperation', { params: { id: third.id } });
    expect((await server.finished(third.id)).state).toBe('ROLLED_BACK');
    await twinRebuilds('ovs');
    const done = await server.finished(fourth.id);
    expect(done).toMatchObject({ state: 'COMPLETED', drivers: [{ from: 'bmv2', to: 'ovs' }] });
  });

  it('goes on after the server was away in the middle of it', async () => {
    await start();
    await runChain();
    const { id } = await change('p4');
    await stepIs(id, ({ state }) => state === 'running');
    const scratch: Scratch = server.scratch;
    await server.running.close();
    const { agents, switches } = server;
    server = await TestServer.start({ twin: true, env: { ORRERY_STEP_TIMEOUT_MS: String(PATIENT_MS) } }, scratch);
    for (const [node, agent] of [...agents, ...switches]) {
      const again = agent.constructor as unknown as new (url: string, node: string, token: null) => typeof agent;
      const back = Object.assign(new again(server.running.url, node, null), { credential: agent.credential });
      if (node === LEAF!.id) leaf = back as FakeSwitch;
      await back.connect();
      (node === LEAF!.id ? server.switches : server.agents).set(node, back as never);
    }
    await twinRebuilds('p4');
    expect((await server.finished(id)).state).toBe('COMPLETED');
    expect(await driverNow()).toBe('p4');
  });
});

describe('a plan for another driver is refused', () => {
  const refusal = async (body: unknown) => {
    const { status, body: problem } = await server.api.request('createPlan', { body: JSON.stringify(body) });
    return { status, errors: (problem as { errors?: unknown }).errors };
  };

  it('for a switch that is not there, is live or is named twice', async () => {
    const live = { ...LEAF!, id: 'real', origin: 'live' };
    await start(PATIENT_MS, Infrastructure.parse({ ...RACK, switches: [LEAF, live] }));
    const to = (id: string) => ({ switch: id, driver: 'p4' });
    for (const [switches, pointer, code] of [
      [[to('none')], '/switch_drivers/0/switch', 'unknown-node'],
      [[to(LEAF!.id), to(LEAF!.id)], '/switch_drivers/1/switch', 'duplicate-id'],
      [[to('real')], '/switch_drivers/0/driver', 'live-switch'],
    ] as const)
      expect(await refusal({ switch_drivers: switches })).toMatchObject({ status: 422, errors: [{ pointer, code }] });
  });

  it('where the machine does not have it, or what it can do is not known', async () => {
    await start(PATIENT_MS, { ...RACK, name: 'without-bmv2' });
    const { errors } = await refusal(asked('bmv2'));
    expect(errors).toMatchObject([
      {
        pointer: '/switch_drivers/0/driver',
        detail: expect.stringContaining(`${LEAF!.id}: driver bmv2 is not available`),
      },
    ]);
    leaf.drivers = {};
    await leaf.rebuild('ovs');
    expect((await refusal(asked('p4'))).errors).toMatchObject([
      { pointer: '/switch_drivers/0/driver', code: 'unknown-driver' },
    ]);
  });

  it('where another switch keeps the infrastructure from being stored, naming that, also once the plan is carried out', async () => {
    const spare = { ...LEAF!, id: 'spare', driver: 'bmv2' };
    await start(PATIENT_MS, Infrastructure.parse({ ...RACK, switches: [LEAF, spare] }));
    const { id } = await planTo('p4');
    writeFileSync(join(server.scratch.stateDir, 'twin/without-bmv2'), '');
    const why = 'spare: driver bmv2 is not available here';
    expect(await refusal(asked('p4'))).toMatchObject({
      status: 422,
      errors: [{ pointer: '/switch_drivers', detail: expect.stringContaining(why) }],
    });
    const over = await server.finished((await deploy(id)).id);
    expect(over).toMatchObject({ state: 'ROLLED_BACK', error: { detail: expect.stringContaining(why) } });
    expect(await driverNow()).toBe('ovs');
  });

  it('where it cannot hold the rules, naming the table', async () => {
    await start();
    leaf.drivers = { ...leaf.drivers, p4: { ...ASSUMED_ABILITIES, entries: 3 } };
    await leaf.rebuild('ovs');
    await runChain();
    const plan = await planTo('p4');
    expect(plan.feasible).toBe(false);
    expect(plan.conflicts[0]).toMatchObject({ constraint: 'switch-table', where: LEAF!.id, available: 3 });
    const refused = await server.api.request('createDeployment', { body: JSON.stringify({ plan_id: plan.id }) });
    expect(refused.status).toBe(422);
    expect(await driverNow()).toBe('ovs');
  });

  it('to be deployed by who may not change the infrastructure', async () => {
    await start();
    const { id } = await planTo('p4');
    const operator = await server.session('operator');
    const refused = await operator.request('createDeployment', { body: JSON.stringify({ plan_id: id }) });
    expect(refused.status).toBe(403);
    expect(await driverNow()).toBe('ovs');
  });
});

describe('a change of the driver of a switch for which there is little time', () => {
  it('that does not come about, nor the driver before again, is told as an error', async () => {
    await start(600);
    const chain = await runChain();
    const { id } = await change('p4');
    await until('the twin is told', async () => (await driverNow()) === 'p4');
    await leaf.kill();
    const told = async () => {
      const { items } = await server.api.call('listEvents', { query: { subject: chain } });
      return items.map(({ type }) => type).filter((type) => /^deployment\.(?!running)/.test(type));
    };
    const outlasting = ['deployment.interrupted', 'deployment.degraded'];
    await until('it is told', async () => (await told()).join() === outlasting.join(), IN_TIME);
    await leaf.rebuild('ovs');
    expect((await server.finished(id)).state).toBe('ROLLED_BACK');
  });

  it('is taken back where the switch does not come up in time, and says why', async () => {
    await start(600);
    const chain = await runChain();
    const { id } = await change('p4');
    await until('the twin is told', async () => (await driverNow()) === 'p4');
    await leaf.kill();
    const backWithFormer = until('the former driver is wanted again', async () => (await driverNow()) === 'ovs').then(
      () => leaf.rebuild('ovs'),
    );
    const over = await server.finished(id);
    await backWithFormer;
    expect(over).toMatchObject({ state: 'ROLLED_BACK', steps: [{ kind: 'change-driver', state: 'failed' }] });
    expect(over.error!.detail).toMatch(
      `${LEAF!.id} does not run p4 within 1.2 s: ${LEAF!.id}: its agent is not connected`,
    );
    expect(await driverNow()).toBe('ovs');
    const state = async () => (await server.api.call('getDeployment', { params: { chain_id: chain } })).state;
    await until('the chain runs', async () => (await state()) === 'running');
  });

  it('is taken back where the new switch refuses its rules', async () => {
    await start(600);
    await runChain();
    const { id } = await change('p4');
    leaf.trouble = 'table steer is full';
    await twinRebuilds('p4');
    const healed = until('the former driver is wanted again', async () => (await driverNow()) === 'ovs').then(() => {
      leaf.trouble = null;
      return leaf.rebuild('ovs');
    });
    const over = await server.finished(id);
    await healed;
    expect(over.state).toBe('ROLLED_BACK');
    expect(over.error!.detail).toContain(`${LEAF!.id}: table steer is full`);
  });
});
