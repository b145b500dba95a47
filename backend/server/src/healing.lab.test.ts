import { expect, it, onTestFinished } from 'vitest';
import { eventsOf } from './testing/events.js';
import { monitorChain, RACK } from './testing/fixtures.js';
import { buildTwin, startTwinLab, twinLabMissing } from './testing/twin-lab.js';
import { until } from './testing/wait.js';

const missing = twinLabMissing();
const WAIT_MS = 30_000;

it.skipIf(missing)(
  `a chain on a server that is killed runs elsewhere, with its packets, and goes back only where the policy says so${missing ? ` (${missing})` : ''}`,
  async () => {
    const server = await startTwinLab();
    onTestFinished(() => server.stop());
    await buildTwin(server, RACK);
    // Longer than a change takes, so that it is over before its server is used again.
    const follow = (policy: 'never' | 'auto') =>
      server.api.call('putHealingPolicy', {
        body: { grace_s: 0.2, stable_s: 6, max_changes: 100, return: policy },
      });
    await follow('never');
    const { id: chain_id } = await server.api.call('createChain', { body: { ...monitorChain('a'), slos: [] } });
    const accepted = await server.api.call('createDeployment', { body: { chain_id } });
    expect(await server.finished(accepted.id)).toMatchObject({ state: 'COMPLETED', error: null });
    await server.api.call('createApplication', {
      body: { id: 'echo', kind: 'probe-server', node: 'web-1', config: {} },
    });

    const place = async () => (await server.api.call('listNfInstances')).items[0]?.server;
    /** Its agent and engine start again within a second: it is away until its link is put back, which the answer does. */
    const kill = async (target: string) => {
      const { links } = await server.api.call('getInfrastructure');
      const link = links.find(({ a, b }) => a.node === target || b.node === target)!;
      const cut = await server.api.call('injectFault', { body: { kind: 'link-down', target: link.id } });
      for (const kind of ['engine-kill', 'agent-kill'] as const)
        await server.api.call('injectFault', { body: { kind, target } });
      return () => server.api.call('clearFault', { params: { id: cut.id } });
    };
    const isServing = async () => (await server.api.call('listOutOfService')).total === 0;
    const events = async (prefix: 'healing.moved' | 'healing.back' | 'healing.returned') =>
      eventsOf((await server.api.call('listEvents', { query: { limit: 1000 } })).items, prefix).map(
        ({ subject }) => subject,
      );
    let probes = 0;
    /** Probes of a second all come back, and the NF counts them. */
    const arePassed = async () => {
      const id = `probe-${probes++}`;
      const config = { to: 'web-1', rate_per_s: 50, duration_s: 1 };
      await server.api.call('createApplication', { body: { id, kind: 'probe', node: 'client-1', config } });
      const status = async () => (await server.api.call('getApplication', { params: { id } })).status;
      await until('the probes end', async () => (await status()).state === 'completed');
      const { metrics } = await status();
      const metric = (name: string) => metrics.find((it) => it.name === name)?.value ?? 0;
      await server.api.request('deleteApplication', { params: { id } });
      const { items } = await server.api.call('listCounters', { query: { limit: 100 } });
      return metric('sent') > 5 && metric('received') === metric('sent') && items[0]!.packets_in > 5;
    };
    await until('packets pass', arePassed, WAIT_MS);

    const first = (await place())!;
    const revive = await kill(first);
    await until('it runs elsewhere', async () => (await events('healing.moved')).includes(first), WAIT_MS);
    const second = (await place())!;
    expect(second).not.toBe(first);
    await revive();
    await until('packets pass again', arePassed, WAIT_MS);
    await until('the server is back', async () => (await events('healing.back')).includes(first), WAIT_MS);
    await until('nothing is left to do for it', isServing);
    expect(await place()).toBe(second);
    expect(await arePassed()).toBe(true);

    await follow('auto');
    const reviveSecond = await kill(second);
    await until('it runs elsewhere', async () => (await events('healing.moved')).includes(second), WAIT_MS);
    await reviveSecond();
    await until('it is back', async () => (await events('healing.returned')).includes(second), WAIT_MS);
    expect(await place()).toBe(second);
    await until('nothing is left to do', isServing);
    await until('packets pass again', arePassed, WAIT_MS);
  },
  120_000,
);
