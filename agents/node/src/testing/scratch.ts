import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { Emit } from '../link/agent-event.js';

export const FAKE_ENGINE = fileURLToPath(new URL('./fake-engine.mjs', import.meta.url));

/** A folder with a short name that is removed after the test. */
export function scratchDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'ora-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

type Falsy = null | undefined | false | 0 | '';

/** Resolves with the first truthy answer; on timeout the test fails with `what`. */
export async function until<T>(
  what: string,
  probe: () => Promise<T | Falsy> | T | Falsy,
  limit_ms = 15_000,
): Promise<T> {
  const deadline = Date.now() + limit_ms;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`timed out after ${limit_ms} ms: ${what}`);
    await sleep(10);
  }
}

/** Kills a process at the end of the test, however the test ends. */
export function endAfterTest(pid: () => number | null | undefined): void {
  onTestFinished(() => {
    const found = pid();
    if (!found) return;
    try {
      process.kill(found, 'SIGKILL');
    } catch {
      // Already gone.
    }
  });
}

/** Collects what a component emits. */
export function eventLog() {
  const events: { event: string; subject: string; message: string }[] = [];
  const emit: Emit = (event, subject, message) => {
    events.push({ event, subject, message });
  };
  return { events, emit, names: () => events.map(({ event }) => event) };
}
