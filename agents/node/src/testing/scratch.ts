import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

export const FAKE_ENGINE = fileURLToPath(new URL('./fake-engine.mjs', import.meta.url));

/** A short-named folder that is gone after the test. */
export function scratchDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'ora-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Resolves with the first truthy answer; a test that waits in vain fails with `what`. */
export async function until<T>(what: string, probe: () => T | Promise<T>, limit_ms = 15_000): Promise<NonNullable<T>> {
  const deadline = Date.now() + limit_ms;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`waited ${limit_ms} ms in vain: ${what}`);
    await sleep(10);
  }
}

/** Ends a process at the end of the test, whatever became of it. */
export function endAfterTest(pid: () => number | null | undefined): void {
  onTestFinished(() => {
    const found = pid();
    if (!found) return;
    try {
      process.kill(found, 'SIGKILL');
    } catch {
      // It is gone.
    }
  });
}

/** Collects what a component emits. */
export function eventLog() {
  const events: { event: string; subject: string; message: string }[] = [];
  const emit = (_severity: string, event: string, subject: string, message: string) => {
    events.push({ event, subject, message });
  };
  return { events, emit, names: () => events.map(({ event }) => event) };
}
