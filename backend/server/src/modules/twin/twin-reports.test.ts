import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { TwinState, type TwinWatchLine } from '@orrery/contract';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { TelemetrySink } from '../../ports/telemetry.js';
import { TwinReports } from './twin-reports.js';
import type { TwindClient } from './twind-client.js';

const EXAMPLE = resolve(import.meta.dirname, '../../../../contract/examples/valid/TwinState.up.json');
const UP = TwinState.parse(JSON.parse(readFileSync(EXAMPLE, 'utf8')));
const LINKS: TwinWatchLine = { type: 'links', links: UP.links };

beforeEach(() => vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => vi.useRealTimers());

/** What follows these lines of twind; it says no more, and the stream stays open. */
async function following(...lines: TwinWatchLine[]) {
  let taken = () => {};
  const all = new Promise<void>((done) => {
    taken = done;
  });
  const client = {
    async *lines() {
      yield* lines;
      taken();
      await new Promise(() => undefined);
    },
  } as unknown as TwindClient;
  const telemetry = { takeLinks: () => undefined } as unknown as TelemetrySink;
  const reports = new TwinReports(undefined as never, undefined as never, undefined as never, telemetry, client);
  void reports.follow(new AbortController().signal);
  await all;
  return reports;
}

it('tells that twind hangs once it has been silent for two seconds while the twin is up', async () => {
  const reports = await following({ type: 'state', state: UP }, LINKS);
  vi.advanceTimersByTime(1900);
  expect(reports.hang).toBeNull();
  vi.advanceTimersByTime(1200);
  expect(reports.hang).toBe('twind has not reported for 3 s');
});

it('expects nothing of twind while it builds', async () => {
  const reports = await following({ type: 'state', state: { ...UP, phase: 'building' } });
  vi.advanceTimersByTime(60_000);
  expect(reports.hang).toBeNull();
});
