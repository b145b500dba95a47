import { expect, it } from 'vitest';
import { configFrom } from '../../platform/config.js';
import { ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { Log } from '../../platform/log.js';
import { ProblemError } from '../../platform/problem.js';
import type { EventLog } from '../../ports/event-log.js';
import type { InfrastructureStore } from '../../ports/infrastructure-store.js';
import type { NodeFleet } from '../../ports/node-fleet.js';
import { FakeClock } from '../../testing/fake-clock.js';
import { SpecSender } from './spec-sender.js';
import { TwinApplicationsLink } from './twin-applications-link.js';
import type { TwinDemand } from './twin-demand.js';
import type { TwinHost } from './twin-host.js';
import { TwinKeeper } from './twin-keeper.js';
import { TwinHung, type TwinReports } from './twin-reports.js';
import type { TwindClient } from './twind-client.js';

const log = { warn: () => undefined, error: () => undefined } as unknown as Log;

/** A twin that does not start. */
function bench() {
  const clock = new FakeClock();
  const startsAtMs: number[] = [];
  const stopsAtMs: number[] = [];
  let change = () => {};
  const demand = {
    enabled: true,
    isWanted: true,
    revision: 1,
    onChange: (listener: () => void) => {
      change = listener;
    },
  };
  const host: TwinHost = {
    isOurs: true,
    ensure: async () => {
      startsAtMs.push(clock.elapsedMs());
      throw new Error('the launcher ended with 1');
    },
    stop: async () => void stopsAtMs.push(clock.elapsedMs()),
  };
  const keeper = new TwinKeeper(
    new ControlLoops(log, clock),
    { append: () => undefined } as unknown as EventLog,
    demand as unknown as TwinDemand,
    host,
    {} as SpecSender,
    { state: null, onState: () => undefined } as unknown as TwinReports,
    { close: async () => undefined } as unknown as TwindClient,
  );
  keeper.onApplicationBootstrap();
  return { clock, demand, keeper, startsAtMs, stopsAtMs, change: () => change() };
}

it('waits longer after each failure, also when the infrastructure is only asked about', async () => {
  const { clock, change, startsAtMs } = bench();
  for (let n = 0; n < 200; n++) {
    await clock.pass(100);
    change();
  }
  expect(startsAtMs).toEqual([0, 250, 750, 1750, 3750, 7750, 15_750]);
});

it('tries again at once when the infrastructure has changed', async () => {
  const { clock, demand, change, startsAtMs } = bench();
  await clock.pass(9000);
  demand.revision = 2;
  change();
  await clock.pass(1);
  expect(startsAtMs).toEqual([0, 250, 750, 1750, 3750, 7750, 9000]);
});

it('gives up at once when it is no longer wanted', async () => {
  const { clock, demand, change, keeper, startsAtMs, stopsAtMs } = bench();
  await clock.pass(9000);
  demand.isWanted = false;
  change();
  await clock.pass(1);
  expect(stopsAtMs).toEqual([9000]);
  expect(keeper.status().daemon).toBe('off');
  await clock.pass(60_000);
  expect(startsAtMs).toHaveLength(6);
});

/** A twin that runs and answers each specification as told; undefined: it accepts it. */
async function running(answers: readonly (ProblemError | undefined)[], isOurs = true) {
  const clock = new FakeClock();
  const infrastructure = { name: 'site', servers: [], boards: [], switches: [], hosts: [], links: [] };
  const demand = {
    enabled: true,
    isWanted: true,
    revision: 1,
    onChange: (listener: () => void) => (change = listener),
  };
  let change = () => {};
  const sent: number[] = [];
  const client = {
    close: async () => undefined,
    json: async (_method: string, _path: string, { generation }: { generation: number }) => {
      const answer = answers[sent.push(generation) - 1];
      if (answer) throw answer;
    },
  } as unknown as TwindClient;
  const stored = {
    get current() {
      return { revision: demand.revision, infrastructure };
    },
  } as unknown as InfrastructureStore;
  const told: string[] = [];
  const keeper = new TwinKeeper(
    new ControlLoops(log, clock),
    { append: ({ message }: { message: string }) => told.push(message) } as unknown as EventLog,
    demand as unknown as TwinDemand,
    { isOurs, ensure: async () => isOurs, stop: async () => undefined },
    new SpecSender(configFrom({}), stored, {} as NodeFleet, client),
    { state: null, onState: () => undefined, follow: () => new Promise(() => undefined) } as unknown as TwinReports,
    client,
  );
  keeper.onApplicationBootstrap();
  await clock.pass(1);
  const setRevision = async (revision: number) => {
    demand.revision = revision;
    change();
    await clock.pass(1);
  };
  const dismiss = async () => {
    demand.isWanted = false;
    await setRevision(demand.revision + 1);
  };
  return { clock, keeper, sent, told, setRevision, dismiss };
}

it('leaves an external twin to itself, without a network, when there is nothing to emulate', async () => {
  const away = new ProblemError(502, 'The twin does not answer: it is being restarted');
  const { keeper, sent, told, dismiss } = await running([undefined, undefined, away], false);
  await dismiss();
  expect(sent).toEqual([1, 2]);
  expect(keeper.status()).toMatchObject({ daemon: 'off', detail: null });
  await dismiss();
  expect([keeper.status().daemon, told]).toEqual(['off', []]);
});

it('does not ask a twin of its own for an empty network', async () => {
  const { sent, dismiss } = await running([undefined]);
  await dismiss();
  expect(sent).toEqual([1]);
});

it('sends an infrastructure again, with back-off, until the twin answers', async () => {
  const away = new ProblemError(502, 'The twin does not answer: stalled');
  const { clock, keeper, sent, told, setRevision } = await running([undefined, away, away, undefined]);
  await setRevision(2);
  expect(keeper.status()).toMatchObject({ daemon: 'running', detail: away.message });
  await clock.pass(249);
  expect(sent).toEqual([1, 2, 2]);
  await clock.pass(500);
  expect(sent).toEqual([1, 2, 2, 2]);
  expect(keeper.status()).toMatchObject({ daemon: 'running', detail: null });
  expect(told).toEqual([away.message]);
  await clock.pass(60_000);
  expect(sent).toHaveLength(4);
});

it('does not send an infrastructure again that the twin refused', async () => {
  const refusal = new ProblemError(422, 'The twin: cannot be built');
  const { clock, keeper, sent, setRevision } = await running([undefined, refusal, undefined]);
  await setRevision(2);
  await clock.pass(60_000);
  expect(sent).toEqual([1, 2]);
  expect(keeper.status()).toMatchObject({ daemon: 'running', detail: refusal.message });
  await setRevision(3);
  expect(sent).toEqual([1, 2, 3]);
  expect(keeper.status().detail).toBeNull();
});

it('replaces a twin that hangs, and until then shows nothing it told as current', async () => {
  const clock = new FakeClock();
  const demand = { enabled: true, isWanted: true, revision: 1, onChange: () => undefined };
  const told: { type: string; message: string }[] = [];
  const limitsMs: (number | undefined)[] = [];
  let fail: (error: Error) => void = () => undefined;
  const reports = {
    state: null as { phase: string } | null,
    hang: null as string | null,
    onState: () => undefined,
    onApplications: () => undefined,
    follow: () => new Promise((_done, failed) => (fail = failed)),
  };
  const client = {
    close: async () => undefined,
    answers: async (limitMs?: number) => {
      limitsMs.push(limitMs);
      return false;
    },
  } as unknown as TwindClient;
  const host: TwinHost = {
    isOurs: true,
    ensure: async (answers: () => Promise<boolean>) => !(await answers()),
    stop: async () => undefined,
  };
  const keeper = new TwinKeeper(
    new ControlLoops(log, clock),
    { append: (event: { type: string; message: string }) => told.push(event) } as unknown as EventLog,
    demand as unknown as TwinDemand,
    host,
    { isCurrent: true, send: async () => undefined } as unknown as SpecSender,
    reports as unknown as TwinReports,
    client,
  );
  const applications = new TwinApplicationsLink(keeper, reports as unknown as TwinReports, client);
  keeper.onApplicationBootstrap();
  await clock.pass(1);
  reports.state = { phase: 'up' };
  expect(keeper.status()).toMatchObject({ daemon: 'running', state: { phase: 'up' } });
  expect(applications.away).toBeNull();

  reports.hang = 'twind has not reported for 3 s';
  expect(keeper.status()).toMatchObject({ daemon: 'lost', detail: reports.hang, state: null });
  expect(applications.away).toBe('the twin does not answer: twind has not reported for 3 s');

  reports.hang = null;
  fail(new TwinHung('twind has not reported for 15 s'));
  await clock.pass(1000);
  expect(told).toMatchObject([{ type: 'twin.lost', message: 'twind has not reported for 15 s' }]);
  expect(keeper.status()).toMatchObject({ daemon: 'running', detail: null });
  expect(limitsMs).toEqual([undefined, 10_000]);
});
