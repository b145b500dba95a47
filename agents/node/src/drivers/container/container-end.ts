import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../../platform/monotonic.js';
import { readable } from '../../platform/readable.js';
import type { Container, DockerClient } from './docker-client.js';

/** A longer one would leave no room for the reason. */
const SAID_CHARS = 300;
/** For Docker to notice, on a busy machine, that a container has ended. A Docker that hangs does not delay the news of it for longer. */
const DEATH_LIMIT_MS = 3000;
const SAID_LIMIT_MS = 1000;
const DEATH_POLL_MS = 50;

/** How a container ended, with the last line that it wrote. */
export async function howItEnded(
  docker: DockerClient,
  { id, exit_code, out_of_memory, memory_limit_bytes }: Container,
): Promise<string> {
  const said = (await docker.logs(id, 1, SAID_LIMIT_MS).catch(() => [])).map((line) => readable(line, SAID_CHARS));
  const code = out_of_memory
    ? `it took more than ${Math.round(memory_limit_bytes / 2 ** 20)} MiB of memory`
    : `exit code ${exit_code}`;
  return `the container ended: ${[code, ...said].join(': ')}`;
}

/** A container that has ended, as soon as Docker says so; null if it does not, or knows of none. */
export async function endedContainer(docker: DockerClient, name: string): Promise<Container | null> {
  const deadline = monotonicMs() + DEATH_LIMIT_MS;
  for (;;) {
    const found = await docker.inspect(name, Math.max(1, Math.ceil(deadline - monotonicMs()))).catch(() => null);
    if (found && !found.running) return found;
    if (!found || monotonicMs() > deadline) return null;
    await sleep(DEATH_POLL_MS, undefined, { ref: false });
  }
}
