import type { SloStatus } from '@orrery/contract';
import { expect, it } from 'vitest';
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

/** The chain `c` runs; `counted`: what is counted. */
function serviceOf(counted: (statuses: SloStatus[], definitionOf: (id: string) => unknown) => void = () => undefined) {
  const clock = new FakeClock();
  const loops = new ControlLoops(log, clock);
  const chains = [{ chain_id: 'c', definition: monitorChain('c') }];
  const plan = { chains, slos: [], fabric: { generation: 1, rules: [] } };
  const left: LeftOutChain[] = [];
  const infrastructure = { current: { infrastructure: { servers: [], hosts: [] } } } as unknown as InfrastructureStore;
  const view = { plan, exits: () => new Map(), deployment: () => ({}) } as unknown as DeploymentView;
  const window = { packets: 1, bytes: 1, latency_ns: [[1, 1]], covered_s: 10, steady_s: 10, origin: 'twin' };
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
    configFrom({ ORRERY_SLO_PERIOD_MS: String(PERIOD_MS) }),
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
  return { clock, loops, chains, left, slos };
}

it('shows every objective as out of date while its loop is paused', async () => {
  const { clock, loops, slos } = serviceOf();
  const told: SloStatus['state'][] = [];
  slos.onChange(([status]) => void told.push(status!.state));
  slos.onApplicationBootstrap();
  await clock.pass(1);
  loops.pause('slo');
  expect(slos.all().map(({ state }) => state)).toEqual(['stale']);
  await clock.pass(10 * PERIOD_MS);
  expect(told).toEqual(['met', 'stale']);
  loops.resume('slo');
  await clock.pass(1);
  expect(told).toEqual(['met', 'stale', 'met']);
  await slos.onApplicationShutdown();
});

it('counts the seconds of a chain that was left out as missed, by the objectives that it ran with', async () => {
  const counted: unknown[] = [];
  const { clock, chains, left, slos } = serviceOf((statuses, definitionOf) => {
    for (const { chain_id, state } of statuses) counted.push([state, definitionOf(chain_id)]);
  });
  const definition = chains[0]!.definition;
  slos.onApplicationBootstrap();
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
