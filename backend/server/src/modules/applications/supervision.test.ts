import type { ApplicationsSpec } from '@orrery/contract';
import { expect, it } from 'vitest';
import { ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { Log } from '../../platform/log.js';
import { unavailable } from '../../platform/problem.js';
import type { InfrastructureStore } from '../../ports/infrastructure-store.js';
import type { NodeFleet } from '../../ports/node-fleet.js';
import type { TwinApplications } from '../../ports/twin-applications.js';
import { FakeClock } from '../../testing/fake-clock.js';
import type { Applications } from './applications.js';
import { Supervision } from './supervision.js';

const log = { warn: () => undefined, error: () => undefined } as unknown as Log;
const WEB = { id: 'web', kind: 'http-server', node: 'web-1', config: { port: 80 }, enabled: true };

/** One emulated host with a web server, and a twind that refuses until it is told not to. */
function bench() {
  const clock = new FakeClock();
  const told: { atMs: number; spec: ApplicationsSpec }[] = [];
  const listeners: (() => void)[] = [];
  const world = { incarnation: 1 as number | null, run: 1, refuses: true };
  const changed = () => {
    for (const listener of listeners) listener();
  };
  const supervision = new Supervision(
    new ControlLoops(log, clock),
    {
      onChange: (listener: () => void) => listeners.push(listener),
      stored: () => [{ definition: WEB, run: world.run }],
    } as unknown as Applications,
    {
      current: { infrastructure: { servers: [], hosts: [] } },
      onChange: () => undefined,
    } as unknown as InfrastructureStore,
    {
      get incarnation() {
        return world.incarnation;
      },
      put: async (spec: ApplicationsSpec) => {
        told.push({ atMs: clock.elapsedMs(), spec });
        if (world.refuses) throw unavailable('twind is busy');
      },
      onIncarnation: (listener: () => void) => listeners.push(listener),
    } as unknown as TwinApplications,
    {} as NodeFleet,
  );
  supervision.onApplicationBootstrap();
  return { clock, world, told, changed };
}

it('tells twind again with back-off, whatever wakes it, and not once it has taken them', async () => {
  const { clock, world, told, changed } = bench();
  for (let n = 0; n < 160; n++) {
    await clock.pass(100);
    if (n > 120) world.refuses = false;
    changed();
  }
  expect(told.map(({ atMs }) => atMs)).toEqual([0, 1000, 3000, 7000, 15_000]);
  expect(new Set(told.map(({ spec }) => spec.generation)).size).toBe(1);
});

it('tells a changed list at once, and so another twind', async () => {
  const { clock, world, told, changed } = bench();
  await clock.pass(9000);
  world.run = 2;
  changed();
  await clock.pass(500);
  world.incarnation = 2;
  changed();
  await clock.pass(500);
  expect(told.map(({ atMs }) => atMs)).toEqual([0, 1000, 3000, 7000, 9000, 10_000]);
  expect(told.at(-2)!.spec.generation).toBeGreaterThan(told.at(-3)!.spec.generation);
  expect(told.at(-1)!.spec).toBe(told.at(-2)!.spec);
});

it('waits for a twind that is away without an attempt', async () => {
  const { clock, world, told, changed } = bench();
  world.incarnation = null;
  world.refuses = false;
  await clock.pass(60_000);
  expect(told).toEqual([]);
  world.incarnation = 1;
  changed();
  await clock.pass(1);
  expect(told).toHaveLength(1);
});
