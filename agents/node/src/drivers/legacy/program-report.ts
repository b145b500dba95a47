import { setTimeout as sleep } from 'node:timers/promises';
import type { DetachedProcess } from '../../platform/detached-process.js';
import type { HeartbeatTiming } from '../../platform/heartbeat.js';
import { monotonicMs } from '../../platform/monotonic.js';
import { DriverError } from '../nf-driver.js';
import { type Entry, heardFrom } from './namespace-commands.js';

/** A report is a process of its own, so it is asked for less often than a sign of life on a socket. */
export const REPORTS: HeartbeatTiming = { period_ms: 1000, silent_ms: 3000, dead_ms: 8000 };

/** What a program that has just started has to show before packets come. */
export interface FirstSign {
  /** Rejects as long as it has not been seen to do well. */
  ask: AskReport;
  limit_ms: number;
  /** What is missing until then, in words. */
  lack: string;
}

/** A program that has just started must have reported by then. */
export const FIRST = { limit_ms: 10_000, lack: 'no report' };
const FIRST_POLL_MS = 50;
const MOST_FIGURES = 64;
const LINE = /^([A-Za-z][A-Za-z0-9_.-]{0,59}) = (-?\d+(?:\.\d+)?)$/;

export type Figures = Readonly<Record<string, number>>;

/** Asks a program how it does. Rejects if it does not answer. */
export type AskReport = () => Promise<Figures>;

export function reporter(entry: Entry, command: readonly string[]): AskReport {
  return async () => figuresIn(await heardFrom(entry, command, REPORTS.silent_ms));
}

/** The figures of a report; other lines are left out. */
export function figuresIn(text: string): Figures {
  const found = text.split('\n').flatMap((line) => {
    const [, name, value] = LINE.exec(line) ?? [];
    return name === undefined ? [] : [[name, Number(value)] as const];
  });
  return Object.fromEntries(found.slice(0, MOST_FIGURES));
}

/** Resolves once a program that has just started shows its first sign; it is killed if it does not. `explain`: how it ended. */
export async function firstReport(
  program: Pick<DetachedProcess, 'ended' | 'alive' | 'kill'>,
  { ask, limit_ms, lack }: FirstSign,
  explain: (how: string) => Promise<string>,
  id: string,
): Promise<void> {
  const untilMs = monotonicMs() + limit_ms;
  const ended = program.ended.then(async (how) => new DriverError(await explain(how), id));
  for (;;) {
    const answer = await Promise.race([ended, ask().catch((error: Error) => error)]);
    if (!(answer instanceof Error)) return;
    if (!program.alive) throw await ended;
    if (monotonicMs() > untilMs) {
      program.kill();
      throw new DriverError(`${lack} within ${limit_ms / 1000} s: ${answer.message}`, id);
    }
    await sleep(FIRST_POLL_MS);
  }
}
