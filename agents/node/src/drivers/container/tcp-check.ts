import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ContainerHealth } from '@orrery/contract';
import { monotonicMs } from '../../platform/monotonic.js';

const run = promisify(execFile);

/** Whether the process's network namespace takes TCP connections to a port of its loopback interface. */
export type Connects = (pid: number, port: number, limit_ms: number) => Promise<boolean>;

const connects: Connects = async (pid, port, limit_ms) => {
  const connect = ['bash', '-c', `exec 3<>/dev/tcp/127.0.0.1/${port}`];
  try {
    await run('nsenter', ['-t', String(pid), '-n', '--', ...connect], { timeout: limit_ms, killSignal: 'SIGKILL' });
    return true;
  } catch {
    return false;
  }
};

/** Checks a port at its interval, and judges as Docker judges a command. */
export class TcpCheck {
  private nextMs = 0;
  private failures = 0;
  private hasWorked = false;

  constructor(
    private readonly pid: number,
    private readonly health: Extract<ContainerHealth, { by: 'tcp' }>,
    private readonly probe: Connects = connects,
    private readonly clock: () => number = monotonicMs,
  ) {}

  /** Why it is not healthy; null: it is. Before it was for the first time, every call checks. */
  async trouble(): Promise<string | null> {
    const { port, interval_s, timeout_s, failures } = this.health;
    if (!this.hasWorked || this.clock() >= this.nextMs) {
      const works = await this.probe(this.pid, port, timeout_s * 1000);
      this.nextMs = this.clock() + interval_s * 1000;
      this.failures = works ? 0 : this.failures + 1;
      this.hasWorked ||= works;
    }
    const isHealthy = this.hasWorked && this.failures < failures;
    return isHealthy ? null : `TCP port ${port} takes no connections`;
  }
}
