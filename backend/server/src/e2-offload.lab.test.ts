import type { ScenarioReport } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RACK } from './testing/fixtures.js';
import type { TestServer } from './testing/server.js';
import { buildTwin, startTwinLab, twinLabMissing } from './testing/twin-lab.js';
import { until } from './testing/wait.js';

const missing = twinLabMissing({ p4: true });
/** Several times what a quiet machine needs. */
const LIMIT_MS = 240_000;
const SECONDS = 2;
const FRAMES = 200;

describe.skipIf(missing)(`the scenario of NFs on a switch${missing ? ` (${missing})` : ''}`, () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startTwinLab();
    await buildTwin(server, RACK);
  });
  afterEach(() => server.stop());

  async function run(parameters: Record<string, string | number>): Promise<ScenarioReport> {
    const params = { id: 'e2-offload' };
    const { id } = await server.api.call('startScenario', { params, body: { parameters } });
    const report = () => server.api.call('getScenarioRun', { params: { id } });
    await until('the end of the run', async () => (await report()).ended_ms !== null, LIMIT_MS);
    return report();
  }

  it(
    'denies and delivers the same in both forms, sends less to the server, and leaves nothing behind',
    async () => {
      const { state, detail, figures } = await run({
        from: 'client-1',
        // The twin begins with others.
        driver: 'p4',
        seconds: SECONDS,
        rate_pps: FRAMES / SECONDS,
      });
      expect(state, detail ?? '').toBe('completed');
      expect(figures.filter(({ pass }) => pass === false)).toEqual([]);
      const here = (name: string) => figures.find((figure) => figure.name === name)!.here;
      for (const form of ['all on servers', 'first on the switch']) {
        expect(here(`Frames sent, ${form}`)).toBe(FRAMES);
        expect(here(`Frames denied, ${form}`)! + here(`Frames out of the chain, ${form}`)!).toBe(FRAMES);
        expect(here(`One-way latency, p50, ${form}`)).toBeGreaterThan(0);
        expect(here(`CPU of the process of the switch, ${form}`)).toBeGreaterThanOrEqual(0);
      }
      // Frames that the firewall denies do not go to the server.
      expect(here('Frames denied, all on servers')).toBeGreaterThan(FRAMES / 4);
      expect(here('Packets saved on the link')).toBe(here('Frames denied, all on servers'));
      expect(here('Packets from the switch to servers, all on servers')).toBe(FRAMES);

      const { switches } = await server.api.call('getInfrastructure');
      expect(switches.map(({ driver }) => driver)).toEqual(RACK.switches.map(({ driver }) => driver));
      for (const list of ['listChains', 'listApplications', 'listPcaps', 'listDeployments'] as const)
        expect((await server.api.call(list, { query: {} })).items, list).toEqual([]);
    },
    LIMIT_MS,
  );
});
