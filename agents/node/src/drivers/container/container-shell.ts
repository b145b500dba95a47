import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ShellSize } from '@orrery/contract';
import { monotonicMs } from '../../platform/monotonic.js';
import { readable } from '../../platform/readable.js';
import { SessionGuard } from '../../platform/session-guard.js';
import { DriverError } from '../nf-driver.js';
import type { ShellTerminal } from '../shell-terminal.js';
import { DockerExec, type ExecState } from './docker-exec.js';

/** In every image that has a shell at all. */
const SHELL = '/bin/sh';
const START_LIMIT_MS = 10_000;
const LOOK_MS = 50;
const SAID_CHARS = 300;
const LAST_WORDS_MS = 1000;

/** Opens a shell in a container that runs. Throws a DriverError in plain words. */
export async function openContainerShell(
  socketPath: string,
  container: string,
  instanceId: string,
  size: ShellSize,
): Promise<ShellTerminal> {
  const docker = new DockerExec(socketPath);
  const id = await docker.create(container, { command: [SHELL], env: ['TERM=xterm-256color'] });
  const stream = await docker.start(id);
  try {
    const state = await started(docker, id);
    if (state.pid === 0 && state.exit_code !== 0) throw new DriverError(wordsOf(await lastWords(stream)), instanceId);
    await docker.resize(id, size.columns, size.rows).catch(() => undefined);
    const guard = state.pid > 0 ? new SessionGuard(state.pid) : null;
    return {
      stream,
      resize: ({ columns, rows }) => docker.resize(id, columns, rows),
      explain: async () => endOf(await docker.inspect(id).catch(() => null)),
      end: () => {
        guard?.end();
        stream.destroy();
      },
    };
  } catch (error) {
    stream.destroy();
    throw error;
  }
}

/** Once it runs, or has ended already. */
async function started(docker: DockerExec, id: string): Promise<ExecState> {
  const untilMs = monotonicMs() + START_LIMIT_MS;
  for (;;) {
    const state = await docker.inspect(id);
    if ((state.running && state.pid > 0) || state.exit_code !== null) return state;
    if (monotonicMs() > untilMs) throw new DriverError(`Docker has not started ${SHELL} in ${START_LIMIT_MS / 1000} s`);
    await sleep(LOOK_MS);
  }
}

/** What Docker writes in place of a shell. */
function lastWords(stream: Socket): Promise<string> {
  return new Promise((resolve) => {
    let said = '';
    const over = () => {
      clearTimeout(late);
      resolve(readable(said.trim(), SAID_CHARS));
    };
    const late = setTimeout(over, LAST_WORDS_MS);
    stream.on('data', (chunk: Buffer) => {
      if (said.length < SAID_CHARS) said += chunk.toString('utf8');
    });
    stream.once('close', over);
  });
}

function wordsOf(said: string): string {
  const isMissing = /no such file or directory|executable file not found/i.test(said);
  return isMissing ? `its image has no shell: there is no ${SHELL} in it` : `no shell could be started: ${said}`;
}

function endOf(state: ExecState | null): string {
  if (state === null) return 'its container, or Docker, has ended';
  return state.exit_code === null ? 'Docker has closed it' : `the shell ended with exit code ${state.exit_code}`;
}
