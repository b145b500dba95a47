import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { ScenarioReport } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RACK } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const ROOT = resolve(import.meta.dirname, '../../..');
const needed = [
  join(ROOT, 'agents/node/dist/agent.mjs'),
  join(ROOT, 'agents/node/generated/p4runtime.json'),
  process.env.ORRERY_ENGINE ?? join(ROOT, 'agents/build/engine/orrery-engine'),
  process.env.ORRERY_P4_SWITCH_COMMAND ?? join(ROOT, 'agents/build/p4/switch/orrery-p4-switch'),
  '/usr/share/openvswitch/vswitch.ovsschema',
].filter((path) => !existsSync(path));
const missing = process.getuid?.() !== 0 ? 'needs root' : needed.length > 0 ? `needs ${needed.join(', ')}` : null;
/** Several times what a quiet machine needs. */
const LIMIT_MS = 240_000;
const FRAMES = 150;

describe.skipIf(missing)(`the scenario of three kinds of switches${missing ? ` (${missing})` : ''}`, () => {
  let server: TestServer;
  beforeEach(async () => {
    const env = {
      ORRERY_TWIN: 'on',
      ORRERY_TWIND: join(ROOT, 'twin/bin/twin-launcher'),
      ORRERY_STEP_TIMEOUT_MS: '20000',
      ORRERY_AGENT_STALE_MS: '5000',
    };
    server = await TestServer.start({ env });
    await server.api.call('putInfrastructure', { body: RACK });
    await until('the agents are there', async () => {
      const { items } = await server.api.call('listNodes', {});
      return items.length > RACK.servers.length && items.every(({ state }) => state === 'connected');
    });
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
        expect(here(`${driver}: packets counted by NFs`)!.here).toBe(4 * FRAMES);
      }
      if (!process.env.ORRERY_BMV2)
        expect(here('bmv2: frames that arrive')).toMatchObject({
          here: null,
          note: expect.stringContaining('left out'),
        });
      await nothingIsLeft();
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
