import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { Emit } from '../link/agent-event.js';
import { removeTreeNow } from '../platform/remove-tree.js';

export const FAKE_ENGINE = fileURLToPath(new URL('./fake-engine.mjs', import.meta.url));

/** A folder with a short name that is removed after the test. */
export function scratchDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'ora-'));
  onTestFinished(() => removeTreeNow(directory));
  return directory;
}

const NEST = `
import os, sys
os.chdir(sys.argv[1])
for _ in range(30):
    os.mkdir('d' * 200)
    os.chdir('d' * 200)
open('deep', 'w').write('x' * 1000)
`;

/** Makes folders in folders whose paths are longer than the kernel accepts (PATH_MAX). */
export function nestDeeply(directory: string): void {
  execFileSync('/usr/bin/python3', ['-c', NEST, directory]);
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
