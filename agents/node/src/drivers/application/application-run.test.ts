import { getEventListeners } from 'node:events';
import { join } from 'node:path';
import type { ApplicationSpec } from '@orrery/contract';
import { expect, it, onTestFinished, vi } from 'vitest';
import { scratchDirectory, until } from '../../testing/scratch.js';
import type { Program } from './application-kind.js';
import { ApplicationRun } from './application-run.js';

const spec: ApplicationSpec = {
  definition: { id: 'app', kind: 'http-server', node: 'server-1', enabled: true, config: { port: 80 } },
  revision: 1,
  address: null,
};

/** A shell program whose output is a number per line: the last one is its rate. */
function run(script: string, over: Partial<Program> = {}): ApplicationRun {
  const directory = scratchDirectory();
  const program: Program = {
    ends: false,
    idle: null,
    command: () => ['sh', '-c', script],
    responds: async () => true,
    metrics: (output) => {
      const numbers = output.trim().split('\n').map(Number);
      return output.trim() ? { rate: numbers.at(-1)!, lines: numbers.length } : null;
    },
    ...over,
  };
  const files = { pid_file: join(directory, 'pid'), log_file: join(directory, 'log') };
  const started = new ApplicationRun(
    program,
    spec,
    files,
    () => null,
    () => undefined,
  );
  onTestFinished(() => started.stop());
  return started;
}

it('reports the figures of an idle program once its output stays the same, until it changes', async () => {
  const idle = { after_ms: 300, metrics: { rate: 0 } };
  const started = run('trap "echo 7" USR1; echo 5; while :; do sleep 0.02; done', { idle });
  const becomes = (rate: number, lines: number) =>
    until(`${rate} of ${lines}`, () => started.metrics.rate === rate && started.metrics.lines === lines);
  await becomes(5, 1);
  await becomes(0, 1);
  process.kill(started.pid!, 'SIGUSR1');
  await becomes(7, 2);
  await becomes(0, 2);
}, 60_000);

it('leaves no listener behind at a restart', async () => {
  const controllers: AbortController[] = [];
  const Original = AbortController;
  vi.stubGlobal(
    'AbortController',
    class extends Original {
      constructor() {
        super();
        controllers.push(this);
      }
    },
  );
  onTestFinished(() => void vi.unstubAllGlobals());
  const counts: number[] = [];
  run('exit 1', {
    command: () => {
      counts.push(controllers.flatMap(({ signal }) => getEventListeners(signal, 'abort')).length);
      return ['sh', '-c', 'exit 1'];
    },
  });
  await until('it was restarted twice', () => counts.length >= 3, 60_000);
  expect(counts.slice(0, 3)).toEqual([0, 0, 0]);
}, 70_000);
