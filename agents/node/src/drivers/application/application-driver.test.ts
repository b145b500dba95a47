import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { ApplicationsSpec, ObservedApplication } from '@orrery/contract';
import { expect, it, onTestFinished } from 'vitest';
import { eventLog, scratchDirectory, until } from '../../testing/scratch.js';
import { ApplicationDriver } from './application-driver.js';

type Definition = ApplicationsSpec['applications'][number]['definition'];

function node(directory = scratchDirectory(), stateDir = directory) {
  const log = eventLog();
  const make = () => {
    const driver = new ApplicationDriver('server-1', stateDir, directory, log.emit, () => undefined);
    driver.start();
    onTestFinished(() => driver.close(false));
    return driver;
  };
  return { make, log };
}

let generation = 0;
const desired = (...definitions: Definition[]): ApplicationsSpec => ({
  generation: ++generation,
  applications: definitions.map((definition) => ({ definition, revision: 1, address: '127.0.0.1' })),
});
const web = (port: number, id = 'web'): Definition => ({
  id,
  kind: 'http-server',
  node: 'server-1',
  enabled: true,
  config: { port },
});
const statusOf = (driver: ApplicationDriver, id: string) =>
  driver.observed.applications.find((each) => each.id === id) as ObservedApplication;
const inState = (driver: ApplicationDriver, id: string, state: string) =>
  until(`${id} ${state}`, () => statusOf(driver, id)?.state === state && statusOf(driver, id));

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

it('runs a web server that answers, counts its requests and is restarted when it is killed', async () => {
  const driver = node().make();
  const port = await freePort();
  driver.desire(desired(web(port)));
  const { pid } = await inState(driver, 'web', 'running');
  expect(await (await fetch(`http://127.0.0.1:${port}/echo`, { method: 'POST', body: 'hello' })).text()).toBe('hello');
  await until('the count', () => statusOf(driver, 'web').metrics.requests === 1);
  process.kill(pid!, 'SIGKILL');
  const again = await until(
    'a restart',
    () => statusOf(driver, 'web').restarts === 1 && inState(driver, 'web', 'running'),
  );
  expect(again.pid).not.toBe(pid);
}, 30_000);

it('reports when its process is suspended and when it recovers', async () => {
  const driver = node().make();
  driver.desire(desired(web(await freePort())));
  const { pid } = await inState(driver, 'web', 'running');
  process.kill(pid!, 'SIGSTOP');
  await inState(driver, 'web', 'unresponsive');
  process.kill(pid!, 'SIGCONT');
  expect((await inState(driver, 'web', 'running')).pid).toBe(pid);
}, 30_000);

it('touches only what changed, and stops what is no longer declared', async () => {
  const driver = node().make();
  const [first, second] = [await freePort(), await freePort()];
  driver.desire(desired(web(first, 'first'), web(second, 'second')));
  const kept = await inState(driver, 'first', 'running');
  const gone = await inState(driver, 'second', 'running');
  driver.desire(desired(web(first, 'first')));
  await until('the end of the other', () => !isAlive(gone.pid!));
  expect(statusOf(driver, 'first').pid).toBe(kept.pid);
  driver.desire(desired({ ...web(first, 'first'), enabled: false }));
  await inState(driver, 'first', 'stopped');
  await until('the end of its process', () => !isAlive(kept.pid!));
}, 30_000);

it.each([...Array(8).keys()])(
  'stops an application that is withdrawn %i microtasks later',
  async (microtasks) => {
    const driver = node().make();
    const port = await freePort();
    driver.desire(desired(web(port)));
    for (let i = 0; i < microtasks; i++) await Promise.resolve();
    driver.desire(desired());
    driver.desire(desired(web(port, 'next')));
    await inState(driver, 'next', 'running');
  },
  30_000,
);

it('runs applications that it cannot save, and reports it once', async () => {
  const file = join(scratchDirectory(), 'state');
  writeFileSync(file, 'not a directory');
  const { make, log } = node(scratchDirectory(), file);
  const driver = make();
  driver.desire(desired(web(await freePort())));
  await inState(driver, 'web', 'running');
  driver.desire(desired());
  await until('the end', () => driver.observed.applications.length === 0);
  expect(log.events.filter(({ event }) => event === 'agent.state-not-saved')).toMatchObject([{ subject: 'server-1' }]);
}, 30_000);

it('reports an application whose files cannot be written', async () => {
  const directory = scratchDirectory();
  writeFileSync(join(directory, 'applications'), 'not a directory');
  const driver = node(directory).make();
  driver.desire(desired(web(await freePort())));
  expect((await inState(driver, 'web', 'failed')).detail).toContain('restarting in');
}, 30_000);

it('leaves programs running for the next agent, which adopts them unchanged', async () => {
  const { make } = node();
  const port = await freePort();
  const driver = make();
  driver.desire(desired(web(port)));
  const { pid } = await inState(driver, 'web', 'running');
  await driver.close(true);
  const next = make();
  expect(await inState(next, 'web', 'running')).toMatchObject({ pid, restarts: 0 });
}, 30_000);

it('streams to an iperf3 server once, and repeats nothing after a restart', async () => {
  const { make, log } = node();
  const driver = make();
  const port = await freePort();
  const server: Definition = { id: 'sink', kind: 'iperf3-server', node: 'server-1', enabled: true, config: { port } };
  const config = { to: 'server-2', family: 'ipv4', port, protocol: 'tcp', rate_bps: 1e6, packet_bytes: 1400 } as const;
  const client: Definition = {
    id: 'stream',
    kind: 'iperf3-client',
    node: 'server-1',
    enabled: true,
    config: { ...config, duration_s: 3 },
  };
  const spec = desired(server, client);
  driver.desire(spec);
  await until('the server receives', () => (statusOf(driver, 'sink').metrics.bits_per_second ?? 0) > 0);
  const { metrics } = await inState(driver, 'stream', 'completed');
  expect(metrics.bits_per_second).toBeGreaterThan(0);
  await until('the server is idle', () => statusOf(driver, 'sink').metrics.bits_per_second === 0);
  await driver.close(false);
  const next = make();
  next.desire(spec);
  await inState(next, 'sink', 'running');
  expect(statusOf(next, 'stream')).toMatchObject({ state: 'completed', metrics, pid: null });
  expect(
    log.events.filter(({ event, subject }) => event === 'application.completed' && subject === 'stream'),
  ).toHaveLength(1);
}, 40_000);

it('reports which kinds it does not run', () => {
  const driver = node().make();
  const config = { to: 'web-1', family: 'ipv4', port: 9000, rate_per_s: 1, duration_s: 0 } as const;
  driver.desire(desired({ id: 'probe', kind: 'probe', node: 'server-1', enabled: true, config }));
  expect(statusOf(driver, 'probe')).toMatchObject({ state: 'failed', detail: 'no agent runs the kind probe' });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
