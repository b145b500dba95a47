import type { ScenarioReport } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RACK } from './testing/fixtures.js';
import type { TestServer } from './testing/server.js';
import { buildTwin, startTwinLab, twinLabMissing } from './testing/twin-lab.js';
import { until } from './testing/wait.js';

const missing = twinLabMissing({ p4: true });
/** Several times what a quiet machine needs. */
const LIMIT_MS = 240_000;
const FRAMES = 150;

describe.skipIf(missing)(`the scenario of three kinds of switches${missing ? ` (${missing})` : ''}`, () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startTwinLab();
    await buildTwin(server, RACK);
  });
  afterEach(() => server.stop());

  async function start(): Promise<string> {
    const parameters = { from: 'client-1', frames: FRAMES, rate_pps: 300 };
    const params = { id: 'fabric-three-ways' };
    return (await server.api.call('startScenario', { params, body: { parameters } })).id;
  }

  const report = (id: string): Promise<ScenarioReport> => server.api.call('getScenarioRun', { params: { id } });
  const drivers = async () => (await server.api.call('getInfrastructure')).switches.map(({ driver }) => driver);

  async function nothingIsLeft(): Promise<void> {
    expect(await drivers()).toEqual(RACK.switches.map(({ driver }) => driver));
    for (const list of ['listChains', 'listApplications', 'listPcaps'] as const)
      expect((await server.api.call(list, {})).items, list).toEqual([]);
  }

  it(
    'finds the same frames and counters on each, and gives the switches their drivers back',
    async () => {
      const id = await start();
      await until('the end of the run', async () => (await report(id)).ended_ms !== null, LIMIT_MS);
      const { state, detail, figures } = await report(id);
      expect(state, detail ?? '').toBe('completed');
      expect(figures.filter(({ pass }) => pass === false)).toEqual([]);
      const here = (name: string) => figures.find((figure) => figure.name === name);
      for (const driver of ['ovs', 'p4', ...(process.env.ORRERY_BMV2 ? ['bmv2'] : [])]) {
        expect(here(`${driver}: frames that arrive`)).toMatchObject({ here: FRAMES, pass: true });
        // Into the chain, out of it, and between.
        expect(here(`${driver}: packets counted by rules`)!.here).toBeGreaterThanOrEqual(FRAMES);
        // Into and out of both NFs.
        expect(here(`${driver}: packets counted by NFs, in and out`)!.here).toBe(4 * FRAMES);
      }
      if (!process.env.ORRERY_BMV2)
        expect(here('bmv2: frames that arrive')).toMatchObject({
          here: null,
          note: expect.stringContaining('left out'),
        });
      await nothingIsLeft();
      const { items } = await server.api.call('listOperations', { query: { kind: 'infrastructure', limit: 100 } });
      const changes = items.map(({ state: end, drivers: [change] }) => [end, change?.from, change?.to]);
      const path = process.env.ORRERY_BMV2 ? ['ovs', 'p4', 'bmv2', 'ovs'] : ['ovs', 'p4', 'ovs'];
      expect(changes.reverse()).toEqual(path.slice(1).map((to, i) => ['COMPLETED', path[i], to]));
    },
    LIMIT_MS,
  );

  it(
    'gives the switches their drivers back when it is stopped on its way',
    async () => {
      const id = await start();
      await until('another driver', async () => (await drivers()).includes('p4'), LIMIT_MS);
      await server.api.call('stopScenarioRun', { params: { id } });
      expect((await report(id)).state).toBe('stopped');
      await nothingIsLeft();
    },
    LIMIT_MS,
  );
});
