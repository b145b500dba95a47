import type { ContainerHealth } from '@orrery/contract';
import { readable } from '../../platform/readable.js';
import type { Signs } from '../legacy/housing.js';
import { Trouble } from '../legacy/program-instance.js';
import type { Container, DockerClient } from './docker-client.js';
import { DockerAway } from './docker-http.js';
import { TcpCheck } from './tcp-check.js';

/** A Docker that takes longer counts as away, which says nothing of the container; well below the silence that is told. */
const LOOK_LIMIT_MS = 800;
/** Before it was healthy for the first time a slow Docker is waited for: nothing else tells that its rules are there. */
const FIRST_LOOK_LIMIT_MS = 3000;
const PERIOD_MS = 1000;
const SILENT_MS = 2500;
/** Of one that has no health check: it can only be paused, or stopped by a signal. */
const STILL_MS = 8000;
const SAID_CHARS = 200;

/** What the health of a container of a user's image is known by. */
export function imageSigns(
  docker: DockerClient,
  container: string,
  pid: number,
  health: ContainerHealth | undefined,
): Signs {
  const port = health?.by === 'tcp' ? new TcpCheck(pid, health) : null;
  /** `found`: null if nothing can be known of it. */
  const judge = (found: Container | null, fault: string | null | undefined) => {
    if (found?.paused) throw new Trouble('its container is paused');
    if (fault) throw new Trouble(`its health check fails: ${fault}`);
    const check = health && !port ? found?.health : null;
    const said = readable(check?.said ?? '', SAID_CHARS);
    if (check?.status === 'unhealthy')
      throw new Trouble(`its health check fails, ${check.failures} times in a row${said && `: ${said}`}`);
    if (check?.status === 'starting') throw new Trouble(`its health check has not succeeded yet${said && `: ${said}`}`);
  };
  const ask = async () => {
    const look = docker.inspect(container, LOOK_LIMIT_MS).catch((error) => {
      if (error instanceof DockerAway) return null;
      throw error;
    });
    const [found, fault] = await Promise.all([look, port?.trouble()]);
    judge(found, fault);
    return {};
  };
  const askFirst = async () => {
    const look = docker.inspect(container, FIRST_LOOK_LIMIT_MS);
    const [found, fault] = await Promise.all([look, port?.trouble()]);
    judge(found, fault);
    if (!found) throw new Trouble('Docker does not have its container');
    if (!port && found.health?.status !== 'healthy') throw new Trouble('Docker does not check its health');
    return {};
  };
  return {
    ask,
    timing: {
      period_ms: PERIOD_MS,
      silent_ms: SILENT_MS,
      dead_ms: health ? SILENT_MS + health.restart_after_s * 1000 : STILL_MS,
    },
    first: health ? { ask: askFirst, limit_ms: health.start_s * 1000, lack: 'not healthy' } : null,
    kill: () => docker.kill(container),
  };
}
