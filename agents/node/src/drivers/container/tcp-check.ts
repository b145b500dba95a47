import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { ContainerHealth } from '@orrery/contract';
import { monotonicMs } from '../../platform/monotonic.js';

const run = promisify(execFile);

const PATIENCE_MS = 500;

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
  private checking: Promise<void> | null = null;
  private nextMs = 0;
  private failures = 0;
  private hasWorked = false;

  constructor(
    private readonly pid: number,
    private readonly health: Extract<ContainerHealth, { by: 'tcp' }>,
    private readonly probe: Connects = connects,
    private readonly clock: () => number = monotonicMs,
  ) {}

  /**
   * Why it is not healthy, by the checks that have ended; null: it is. Before it was for the first time, every call checks.
   * It does not wait for a check that takes long.
   */
  async trouble(): Promise<string | null> {
    const { port, failures } = this.health;
    if (!this.hasWorked || this.clock() >= this.nextMs)
      this.checking ??= this.check().finally(() => {
        this.checking = null;
      });
    await Promise.race([this.checking, sleep(PATIENCE_MS, undefined, { ref: false })]);
    const isHealthy = this.hasWorked && this.failures < failures;
    return isHealthy ? null : `TCP port ${port} takes no connections`;
  }

  private async check(): Promise<void> {
    const { port, interval_s, timeout_s } = this.health;
    const works = await this.probe(this.pid, port, timeout_s * 1000);
    this.nextMs = this.clock() + interval_s * 1000;
    this.failures = works ? 0 : this.failures + 1;
    this.hasWorked ||= works;
  }
}
