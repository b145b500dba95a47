import { bucketOf, type SloStatus } from '@orrery/contract';
import { expect, it, vi } from 'vitest';
import { configFrom } from '../../platform/config.js';
import { ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { Log } from '../../platform/log.js';
import type { ChainStore } from '../../ports/chain-store.js';
import type { DeploymentView } from '../../ports/deployment-view.js';
import type { EventLog } from '../../ports/event-log.js';
import type { InfrastructureStore } from '../../ports/infrastructure-store.js';
import type { NodeFleet } from '../../ports/node-fleet.js';
import type { LeftOutChain, NotKeptChains } from '../../ports/not-kept-chains.js';
import type { Telemetry } from '../../ports/telemetry.js';
import { FakeClock } from '../../testing/fake-clock.js';
import { monitorChain } from '../../testing/fixtures.js';
import type { SloAlerts } from './alerts/slo-alerts.js';
import type { SloLedgers } from './ledger/slo-ledgers.js';
import { LeftOutObjectives } from './left-out.js';
import type { RunningPredictions } from './running-predictions.js';
import { reasonOf, SlosService } from './slos.service.js';

const log = { warn: () => undefined, error: () => undefined } as unknown as Log;
const PERIOD_MS = 50;

const WINDOW = { packets: 1, bytes: 1, latency_ns: [[1, 1]], covered_s: 10, steady_s: 10, origin: 'twin' };
type Counted = (statuses: SloStatus[], definitionOf: (id: string) => unknown) => void;

/** The chain `c` runs, whose exits measure the window; `counted`: what is counted. */
function serviceOf({ window = WINDOW, periodMs = PERIOD_MS, counted = (() => undefined) as Counted } = {}) {
  const clock = new FakeClock();
  const loops = new ControlLoops(log, clock);
  const chains = [{ chain_id: 'c', definition: monitorChain('c') }];
  const plan = { chains, slos: [], fabric: { generation: 1, rules: [] } };
  const left: LeftOutChain[] = [];
  const infrastructure = { current: { infrastructure: { servers: [], hosts: [] } } } as unknown as InfrastructureStore;
  const view = { plan, exits: () => new Map(), deployment: () => ({}) } as unknown as DeploymentView;
  const ledgers = {
    countSeconds: (all: SloStatus[], definitionOf: (id: string) => unknown) => {
      counted(all, definitionOf);
      return all;
    },
    all: () => [],
    interrupt: () => undefined,
  };
  const slos = new SlosService(
    loops,
    configFrom({ ORRERY_SLO_PERIOD_MS: String(periodMs) }),
    { window: () => window, onSamples: () => undefined } as unknown as Telemetry,
    {} as NodeFleet,
    view,
    { troublesOf: () => [], carriage: () => null, delivers: () => true, onChange: () => undefined },
    { append: () => undefined } as unknown as EventLog,
    { of: () => [] } as unknown as RunningPredictions,
    infrastructure,
    ledgers as unknown as SloLedgers,
    { judge: () => undefined } as unknown as SloAlerts,
    new LeftOutObjectives({ leftOut: () => left } as unknown as NotKeptChains, {} as ChainStore, infrastructure),
  );
  const told: SloStatus[] = [];
  slos.onChange(([status]) => void (status && told.push(status)));
  slos.onApplicationBootstrap();
  return { clock, loops, chains, left, slos, told };
}

it('shows every objective as out of date while its loop is paused', async () => {
  const { clock, loops, slos, told } = serviceOf();
  const states = () => told.map(({ state }) => state);
  await clock.pass(1);
  loops.pause('slo');
  expect(slos.all().map(({ state }) => state)).toEqual(['stale']);
  await clock.pass(10 * PERIOD_MS);
  expect(states()).toEqual(['met', 'stale']);
  loops.resume('slo');
  await clock.pass(1);
  expect(states()).toEqual(['met', 'stale', 'met']);
  await slos.onApplicationShutdown();
});

it('judges a chain of which something else runs all the time, once it has gone unjudged for 30 s', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const { clock, slos, told } = serviceOf({
    window: { ...WINDOW, latency_ns: [[bucketOf(1e9), 1]], steady_s: 1 },
    periodMs: 1000,
  });
  await clock.pass(1);
  for (let s = 0; s < 40; s++) {
    vi.advanceTimersByTime(1000);
    await clock.pass(1000);
  }
  vi.useRealTimers();
  const count = (state: SloStatus['state']) => told.filter((it) => it.state === state).length;
  expect([count('warming-up'), count('violated')]).toEqual([31, 10]);
  expect(told.at(-1)!.cause).toMatch(/changes too often/);
  await slos.onApplicationShutdown();
});

it('counts the seconds of a chain that was left out as missed, by the objectives that it ran with', async () => {
  const counted: unknown[] = [];
  const { clock, chains, left, slos } = serviceOf({
    counted: (statuses, definitionOf) => {
      for (const { chain_id, state } of statuses) counted.push([state, definitionOf(chain_id)]);
    },
  });
  const definition = chains[0]!.definition;
  await clock.pass(1);
  left.push({ chain_id: 'c', because: 'no room', version: null });
  chains.pop();
  await clock.pass(PERIOD_MS);
  expect(counted).toEqual([
    ['met', definition],
    ['violated', definition],
  ]);
  expect(slos.all()).toMatchObject([{ state: 'violated', cause: expect.stringContaining('no room') }]);
  left.pop();
  await clock.pass(PERIOD_MS);
  expect(slos.all()).toEqual([]);
  await slos.onApplicationShutdown();
});

it('says why an objective is in its state in the units of what was measured and of what was offered', () => {
  const status = {
    state: 'violated',
    measured: 0.25,
    target: 0.5,
    unit: 'share',
    offered: 4e6,
    carried: 0.25,
  } as SloStatus;
  expect(reasonOf({ ...status, kind: 'availability' })).toBe('25 % of the 4 Mbit/s offered was carried, at least 50 %');
  expect(reasonOf({ ...status, kind: 'loss' })).toBe('25 % of the offered packets were lost, at most 50 %');
});
