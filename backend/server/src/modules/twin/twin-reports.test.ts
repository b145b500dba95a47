import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { join, resolve } from 'node:path';
import { type EventDraft, TwinState, type TwinWatchLine } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { EventLog } from '../../ports/event-log.js';
import type { TelemetrySink } from '../../ports/telemetry.js';
import { TwinHung, TwinReports } from './twin-reports.js';
import { TwindClient } from './twind-client.js';

const EXAMPLE = resolve(import.meta.dirname, '../../../../contract/examples/valid/TwinState.up.json');
const UP = TwinState.parse(JSON.parse(readFileSync(EXAMPLE, 'utf8')));
const LINKS: TwinWatchLine = { type: 'links', links: UP.links };

beforeEach(() => vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => vi.useRealTimers());

let told: EventDraft[];
beforeEach(() => {
  told = [];
});

function reportsOf(client: TwindClient): TwinReports {
  const telemetry = { takeLinks: () => undefined } as unknown as TelemetrySink;
  const events = { append: (draft: EventDraft) => void told.push(draft) } as unknown as EventLog;
  const chains = { ranAt: (node: string, atMs: number) => (node === 'server-1' && atMs === 1 ? ['ch-1'] : []) };
  return new TwinReports(undefined as never, undefined as never, events, telemetry, client, chains);
}

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
  const reports = reportsOf(client);
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

it.each(['building', 'tearing-down', 'failed'] as const)(
  'expects signs of life while the twin is %s',
  async (phase) => {
    const reports = await following({ type: 'state', state: { ...UP, phase, links: [] } });
    vi.advanceTimersByTime(2500);
    expect(reports.hang).toBe('twind has not reported for 2 s');
  },
);

it('names the chains that a server was to run when its agent or engine ended', async () => {
  const line = (event: string, subject: string) => ({ type: 'event', event, subject, message: 'm', t_ms: 1 }) as const;
  await following(line('agent.killed', 'server-1'), line('engine.killed', 'server-2'), line('link.down', 'server-1'));
  expect(told.map(({ type, data }) => [type, data])).toEqual([
    ['agent.killed', { chains: ['ch-1'] }],
    ['engine.killed', { chains: [] }],
    ['link.down', {}],
  ]);
});

it('expects the first report as soon as it listens, and none after that', async () => {
  const reports = await following();
  vi.advanceTimersByTime(2500);
  expect(reports.hang).toBe('twind has not reported for 2 s');
  expect(reportsOf({} as TwindClient).hang).toBeNull();
});

describe('a twind that stops in the middle of its reports', () => {
  let directory: string;
  let server: Server;
  let client: TwindClient;
  let response: ServerResponse;

  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] });
    directory = mkdtempSync('/tmp/orrery-r-');
    server = createServer((_request, reply) => {
      response = reply;
      reply.write(`${JSON.stringify({ type: 'state', state: UP })}\n`);
    });
    await new Promise<void>((done) => server.listen(join(directory, 's'), done));
    client = new TwindClient(join(directory, 's'));
  });
  afterEach(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
    rmSync(directory, { recursive: true });
  });

  /** Also each time it falls silent or reports again. */
  const nextState = (reports: TwinReports) => new Promise<void>((done) => reports.onState(done));

  it('is followed for fifteen seconds', async () => {
    const reports = reportsOf(client);
    const first = nextState(reports);
    const followed = reports.follow(new AbortController().signal);
    followed.catch(() => undefined);
    await first;
    vi.advanceTimersByTime(1900);
    const silent = nextState(reports);
    vi.advanceTimersByTime(600);
    await silent;
    expect(reports.hang).toBe('twind has not reported for 2 s');
    vi.advanceTimersByTime(12_000);
    const again = nextState(reports);
    response.write(`${JSON.stringify(LINKS)}\n${JSON.stringify({ type: 'state', state: UP })}\n`);
    await again;
    expect(reports.hang).toBeNull();
    vi.advanceTimersByTime(16_000);
    await expect(followed).rejects.toThrow(new TwinHung('twind has not reported for 15 s'));
    expect(reports.hang).toBeNull();
  });

  it('is not accused of a stall of the server', async () => {
    const reports = reportsOf(client);
    const first = nextState(reports);
    const abort = new AbortController();
    const followed = reports.follow(abort.signal);
    followed.catch(() => undefined);
    await first;
    // Time passes, but no timer runs.
    const now = performance.now();
    const late = vi.spyOn(performance, 'now').mockImplementation(() => now + 60_000);
    vi.advanceTimersToNextTimer();
    expect(reports.hang).toBeNull();
    late.mockRestore();
    abort.abort(new Error('enough'));
    await expect(followed).rejects.toThrow('enough');
  });
});
