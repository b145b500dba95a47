import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Infrastructure } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { REPOSITORY_ROOT } from './platform/config.js';
import { RACK } from './testing/fixtures.js';
import type { TestServer } from './testing/server.js';
import { buildTwin, P4_SWITCH, startTwinLab, twinLabMissing, twinProcesses } from './testing/twin-lab.js';
import { until } from './testing/wait.js';

const EXAMPLES = join(REPOSITORY_ROOT, 'twin/p4/examples');
const missing = twinLabMissing({ p4: true });
/** Several times what a quiet machine needs. */
const LIMIT_MS = 180_000;

const link = (host: string, port: string) => ({
  id: `${host}-lab`,
  a: { node: host, port: 'eth0' },
  b: { node: 'lab', port },
  bandwidth_bps: 1e8,
});
const host = (id: string, address: string, mac: string) => ({
  id,
  origin: 'twin',
  role: 'client',
  addresses: [{ address }],
  mac,
});
/** One P4 switch with two hosts. */
const lab = (program: string | undefined) =>
  Infrastructure.parse({
    name: 'lab',
    servers: [],
    switches: [{ ...RACK.switches[0]!, id: 'lab', driver: 'p4', ...(program && { program }) }],
    hosts: [host('left', '10.9.1.1', '02:00:0a:09:01:01'), host('right', '10.9.2.1', '02:00:0a:09:02:01')],
    links: [link('left', 'p1'), link('right', 'p2')],
  });
const params = { id: 'lab' };

describe.skipIf(missing)(`a P4 program of a user in the twin${missing ? ` (${missing})` : ''}`, () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startTwinLab();
  });
  afterEach(() => server.stop());

  /** Probes from one host to the other, back and forth, for a second each until all of a second arrive. */
  async function allArrive(): Promise<void> {
    await until(
      'a second of probes all arrive',
      async () => {
        const config = { to: 'right', rate_per_s: 50, duration_s: 1 };
        await server.api.call('createApplication', { body: { id: 'probe', kind: 'probe', node: 'left', config } });
        const status = async () => (await server.api.call('getApplication', { params: { id: 'probe' } })).status;
        await until('the probes end', async () => (await status()).state === 'completed', 20_000);
        const { metrics } = await status();
        const of = (name: string) => metrics.find((metric) => metric.name === name)?.value ?? 0;
        await server.api.request('deleteApplication', { params: { id: 'probe' } });
        return of('sent') > 10 && of('received') === of('sent');
      },
      60_000,
    );
  }

  const switchPid = () => twinProcesses(server, P4_SWITCH)[0]?.pid;

  const runs = (hash: string) =>
    until(
      'the switch runs the program',
      async () => {
        const answer = await server.api.request('readP4Tables', { params });
        return answer.status === 200 && (answer.body as { hash: string }).hash === hash;
      },
      60_000,
    );

  it(
    'routes between hosts by the entries of its user, leaves traces, and is there again after the switch was killed',
    async () => {
      const upload = {
        name: 'mine',
        title: 'Mine',
        bmv2_json: readFileSync(join(EXAMPLES, 'ipv4-router.json'), 'utf8'),
        p4info: readFileSync(join(EXAMPLES, 'ipv4-router.p4info.txtpb'), 'utf8'),
      };
      const { hash } = await server.api.call('createP4Program', { body: upload });
      await server.api.call('putInfrastructure', { body: lab('mine') });
      await runs(hash);
      const route = (address: string, mac: string, port: string) => ({
        table: 'routes',
        match: { dst_addr: address },
        action: 'forward',
        params: { next_hop: mac, port },
      });
      const entries = [
        route('10.9.1.0/24', '02:00:0a:09:01:01', 'p1'),
        route('10.9.2.0/24', '02:00:0a:09:02:01', 'p2'),
      ];
      await server.api.call('putP4Entries', { params, body: { entries } });
      const echo = { id: 'echo', kind: 'probe-server', node: 'right', config: {} };
      await server.api.call('createApplication', { body: echo });
      await allArrive();
      const counted = await server.api.call('readP4Tables', { params });
      expect(counted.entries).toHaveLength(2);
      for (const { packets, own } of counted.entries) expect([own, packets! > 10]).toEqual([true, true]);

      await server.api.call('armTraces', { params, body: { count: 2, port: 'p1' } });
      await allArrive();
      const { traces } = await server.api.call('listTraces', { params, query: {} });
      expect(traces).toHaveLength(2);
      for (const { steps } of traces) {
        expect(steps).toContainEqual(
          expect.objectContaining({ step: 'table_lookup', table: 'Router.routes', hit: true }),
        );
        expect(steps).toContainEqual(expect.objectContaining({ step: 'sent', port: 'p2' }));
      }

      const before = switchPid()!;
      process.kill(before, 'SIGKILL');
      await until('another process', () => switchPid() !== undefined && switchPid() !== before, 30_000);
      await allArrive();
      await runs(hash);

      const broken = { ...upload, name: 'broken', bmv2_json: upload.bmv2_json.replaceAll('"csum16"', '"no_such_sum"') };
      await server.api.call('createP4Program', { body: broken });
      await server.api.call('putInfrastructure', { body: lab('broken') });
      const refused = await until(
        'the refusal',
        async () => {
          const { observed } = await server.api.call('getSwitch', { params });
          return observed?.state === 'failed' ? observed.error : null;
        },
        30_000,
      );
      expect(refused).toMatch(/the P4 program broken is refused: .*no_such_sum/);
      await allArrive();

      await buildTwin(server, lab(undefined));
      await allArrive();
    },
    LIMIT_MS,
  );

  it(
    'is shown by a scenario, which leaves the topology as it was, also when it is stopped',
    async () => {
      const before = lab(undefined);
      await buildTwin(server, before);
      const start = async () => {
        const body = { parameters: { seconds: 2 } };
        return (await server.api.call('startScenario', { params: { id: 'p4-own-program' }, body })).id;
      };
      const run = (id: string) => server.api.call('getScenarioRun', { params: { id } });
      const over = (id: string) =>
        until('the run ends', async () => ((await run(id)).state === 'running' ? null : run(id)), 120_000);
      const isLeft = async () => {
        const { items } = await server.api.call('listP4Programs');
        expect(items.map(({ name }) => name)).not.toContain('scenario-router');
        expect(await server.api.call('getInfrastructure')).toEqual(before);
      };
      const { state, detail, figures } = await over(await start());
      expect({ state, detail }).toEqual({ state: 'completed', detail: null });
      expect(figures.map(({ pass }) => pass)).toEqual([true, true, true, true]);
      expect(figures.at(-1)!.note).toMatch(/^in at p1, table Router.routes hit, .*forward, out at p2$/);
      await isLeft();

      const stopped = await start();
      await until('the switch is there', async () =>
        (await server.api.call('getInfrastructure')).switches.some(({ id }) => id === 'scenario-p4'),
      );
      await server.api.call('stopScenarioRun', { params: { id: stopped } });
      expect((await over(stopped)).state).not.toBe('completed');
      await isLeft();
      const designer = await server.session('designer');
      const refused = await designer.request('startScenario', { params: { id: 'p4-own-program' }, body: '{}' });
      expect(refused.status).toBe(403);
    },
    LIMIT_MS,
  );
});
