import { setTimeout as sleep } from 'node:timers/promises';
import { ChainDefinition, Infrastructure, type Operation, type SwitchNode } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { isOver } from './ports/operation-log.js';
import { RACK } from './testing/fixtures.js';
import type { TestServer } from './testing/server.js';
import { buildTwin, isBuilt, P4_SWITCH, startTwinLab, twinLabMissing, twinProcesses } from './testing/twin-lab.js';
import { until } from './testing/wait.js';

const missing = twinLabMissing({ p4: true });
const BMV2 = process.env.ORRERY_BMV2;
/** What forwards, of the drivers whose switches are one process each. */
const PROGRAMS: Partial<Record<SwitchNode['driver'], string>> = {
  p4: P4_SWITCH,
  ...(BMV2 ? { bmv2: BMV2 } : {}),
};
/** Several times what a quiet machine needs. */
const LIMIT_MS = 300_000;

const CHAIN = ChainDefinition.parse({
  name: 'watched',
  title: 'Watched',
  traffic_class: {
    from: ['client-1', 'client-2'],
    match: [{ attribute: 'ip.dst', value: '10.0.2.1/32' }],
    rate_bps: 1_000_000,
  },
  nodes: [
    { id: 'in', kind: 'ingress' },
    { id: 'first', kind: 'nf', nf: 'monitor' },
    { id: 'second', kind: 'nf', nf: 'monitor' },
    { id: 'out', kind: 'egress' },
  ],
  edges: [
    { id: 'e1', from: 'in', to: 'first' },
    { id: 'e2', from: 'first', to: 'second' },
    { id: 'e3', from: 'second', to: 'out' },
  ],
});

const running = (driver: SwitchNode['driver']): Infrastructure =>
  Infrastructure.parse({ ...RACK, switches: RACK.switches.map((one) => ({ ...one, driver })) });

describe.skipIf(missing)(`a chain over switches of every driver${missing ? ` (${missing})` : ''}`, () => {
  let server: TestServer;
  beforeEach(async () => {
    // Ends as soon as it is started: what is to run by it never comes up.
    if (BMV2 === undefined) vi.stubEnv('ORRERY_BMV2', '/bin/false');
    server = await startTwinLab();
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await server.stop();
  });

  /** Of the only switch, by a plan; resolves when its operation has come about. */
  async function change(driver: SwitchNode['driver'], chains: readonly string[]): Promise<Operation> {
    const [{ id } = { id: '' }] = RACK.switches;
    const plan = await server.api.call('createPlan', { body: { switch_drivers: [{ switch: id, driver }] } });
    expect(plan.feasible, JSON.stringify(plan.conflicts)).toBe(true);
    expect(plan.steps).toMatchObject([{ kind: 'change-driver', subject: id, interrupts: chains }]);
    const [table] = plan.tables;
    const installed = async () => (await server.api.call('getSwitch', { params: { id } })).observed?.entries;
    expect(await installed()).toBe(table!.entries_before);
    const before = await passed();
    const accepted = await server.api.call('createDeployment', { body: { plan_id: plan.id } });
    const done = await server.finished(accepted.id);
    expect(done, done.error?.detail).toMatchObject({ kind: 'infrastructure', state: 'COMPLETED' });
    expect((await server.api.call('getSwitch', { params: { id } })).description?.driver).toBe(driver);
    expect(await installed()).toBe(table!.entries);
    // The instances are the same, with what they have counted.
    const after = await passed();
    expect([...after.keys()]).toEqual([...before.keys()]);
    for (const [instance, packets] of before) expect(after.get(instance)).toBeGreaterThanOrEqual(packets);
    return done;
  }

  /** Packets by instance. */
  async function passed(): Promise<Map<string, number>> {
    const { items } = await server.api.call('listCounters', { query: { limit: 100 } });
    return new Map(items.map(({ instance_id, packets_in }) => [instance_id, packets_in]));
  }

  /** Of one second of probes of every client. */
  async function probed(): Promise<{ sent: number; received: number }[]> {
    const clients = ['client-1', 'client-2'];
    for (const node of clients) {
      const config = { to: 'web-1', rate_per_s: 100, duration_s: 1 };
      await server.api.call('createApplication', { body: { id: `probe-${node}`, kind: 'probe', node, config } });
    }
    const figures: { sent: number; received: number }[] = [];
    for (const node of clients) {
      const params = { id: `probe-${node}` };
      const status = async () => (await server.api.call('getApplication', { params })).status;
      await until('the probes end', async () => (await status()).state === 'completed');
      const metric = async (name: string) => (await status()).metrics.find((it) => it.name === name)!.value ?? 0;
      figures.push({ sent: await metric('sent'), received: await metric('received') });
      await server.api.request('deleteApplication', { params });
    }
    return figures;
  }

  /** Resolves when as many probes of a second arrived as were sent. */
  async function allArrive(): Promise<void> {
    const arrive = async () => (await probed()).every(({ sent, received }) => sent > 10 && received === sent);
    await until('a second of probes all arrive', arrive, 60_000);
  }

  /** Once the operation is over and the chain is called running, the switch carries packets: it is not built anew after that. */
  async function isCancelled(afterMs: number, chain_id: string): Promise<void> {
    const [{ id } = { id: '' }] = RACK.switches;
    const plan = await server.api.call('createPlan', { body: { switch_drivers: [{ switch: id, driver: 'ovs' }] } });
    const accepted = await server.api.call('createDeployment', { body: { plan_id: plan.id } });
    const step = async () => (await server.operation(accepted.id)).steps[0]!;
    await until('the driver is being changed', async () => (await step()).detail !== null);
    const state = async () => (await server.api.call('getDeployment', { params: { chain_id } })).state;
    await until('the chain is degraded', async () => (await state()) === 'degraded');
    await sleep(afterMs);
    await server.api.request('cancelOperation', { params: { id: accepted.id } });
    await until('it is over', async () => isOver(await server.operation(accepted.id)), 60_000);
    await until('the chain is called running', async () => (await state()) === 'running');
    for (const { sent, received } of await probed()) expect(received, `after ${afterMs} ms`).toBeGreaterThan(sent / 2);
    const { drivers, state: end } = await server.operation(accepted.id);
    if (end === 'COMPLETED') await change(drivers[0]!.from, [chain_id]);
  }

  async function survives(program: string): Promise<void> {
    for (const signal of ['SIGKILL', 'SIGSTOP'] as const) {
      const now = () => twinProcesses(server, program).map(({ pid }) => pid);
      const [pid] = now();
      process.kill(pid!, signal);
      await until(`another process after ${signal}`, () => now().length > 0 && !now().includes(pid!), 30_000);
      await allArrive();
    }
  }

  /** A change to a driver whose switch never comes up; resolves when the former one carries packets again. */
  async function isTakenBack(): Promise<void> {
    const [leaf] = RACK.switches;
    const plan = await server.api.call('createPlan', {
      body: { switch_drivers: [{ switch: leaf!.id, driver: 'bmv2' }] },
    });
    const doomed = await server.api.call('createDeployment', { body: { plan_id: plan.id } });
    const over = await until(
      'it is taken back',
      async () => {
        const operation = await server.operation(doomed.id);
        return isOver(operation) ? operation : null;
      },
      150_000,
    );
    expect(over.state).toBe('ROLLED_BACK');
    expect(over.error!.detail).toMatch(`${leaf!.id} does not run bmv2 within 40 s`);
    await isBuilt(server, running('p4'));
    await allArrive();
  }

  it(
    'is deployed unchanged, survives a switch that dies or hangs, and is led over to another driver and back by plans',
    async () => {
      await buildTwin(server, running('p4'));
      const { id } = await server.api.call('createChain', { body: CHAIN });
      const accepted = await server.api.call('createDeployment', { body: { chain_id: id } });
      const done = await server.finished(accepted.id);
      expect(done, done.error?.detail).toMatchObject({ state: 'COMPLETED' });
      await server.api.call('createApplication', {
        body: { id: 'echo', kind: 'probe-server', node: 'web-1', config: {} },
      });
      await allArrive();
      const { items } = await server.api.call('listCounters', { query: { limit: 100 } });
      expect(items.reduce((sum, { packets_in }) => sum + packets_in, 0)).toBeGreaterThan(20);

      const params = { id: RACK.switches[0]!.id };
      expect(await server.api.call('armTraces', { params, body: { count: 2 } })).toMatchObject({ armed: 2 });
      await allArrive();
      const { traces } = await server.api.call('listTraces', { params, query: {} });
      expect(traces).toHaveLength(2);
      for (const { steps } of traces) {
        const passed = steps.flatMap((one) => (one.step === 'table_lookup' && one.hit ? [one.table] : []));
        expect(passed).toContain('Steer.admit');
        expect(steps.some(({ step }) => step === 'sent')).toBe(true);
      }

      await survives(P4_SWITCH);
      for (const afterMs of [0, 300, 700]) await isCancelled(afterMs, id);
      const { drivers } = await change('ovs', [id]);
      await allArrive();
      await change(drivers[0]!.from, [id]);
      await allArrive();
      for (const [driver, program] of Object.entries(PROGRAMS)) {
        if (program === P4_SWITCH) continue;
        await change(driver as SwitchNode['driver'], [id]);
        await allArrive();
        await survives(program);
      }
      if (BMV2 === undefined) await isTakenBack();
    },
    LIMIT_MS,
  );
});
