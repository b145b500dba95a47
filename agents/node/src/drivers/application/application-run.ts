import { setTimeout as sleep } from 'node:timers/promises';
import type { ApplicationSpec, ApplicationState } from '@orrery/contract';
import { backoffMs } from '../../platform/backoff.js';
import { DetachedProcess } from '../../platform/detached-process.js';
import { tail } from '../../platform/file-tail.js';
import type { Metrics, Program } from './application-kind.js';

const RETRY = { first_ms: 500, most_ms: 15_000 };
const STABLE_AFTER_MS = 10_000;
const LOOK_MS = 500;
const READY_LIMIT_MS = 20_000;
const STOP_GRACE_MS = 2000;
/** How much of the output is read for the latest report. */

export interface RunFiles {
  readonly pid_file: string;
  readonly log_file: string;
}

/** One application: started, or adopted from an earlier agent; watched; restarted after increasing delays. */
export class ApplicationRun {
  state: ApplicationState = 'starting';
  since_ms = Date.now();
  detail: string | null = null;
  restarts = 0;
  metrics: Metrics = {};
  private process: DetachedProcess | null = null;
  private readonly ending = new AbortController();
  private readonly kept: Promise<void>;

  constructor(
    private readonly program: Program,
    private readonly spec: ApplicationSpec,
    private readonly files: RunFiles,
    /** Seconds left; null: no end, 0: time is up. */
    private readonly leftS: () => number | null,
    private readonly onState: () => void,
  ) {
    this.process = DetachedProcess.adopt(files);
    this.kept = this.keep();
  }

  get pid(): number | null {
    return this.process?.alive ? this.process.pid : null;
  }

  /** Resolves when its process is gone. */
  async stop(): Promise<void> {
    this.ending.abort();
    // A process that is being started is known only then.
    await this.kept;
    await this.process?.stop(STOP_GRACE_MS);
  }

  /** Leaves the process running for the next agent. */
  async release(): Promise<void> {
    this.ending.abort();
    await this.kept;
    this.process?.release();
  }

  private async keep(): Promise<void> {
    // After the constructor's caller has its instance.
    await Promise.resolve();
    for (let attempt = 1; !this.ending.signal.aborted; ) {
      if (!this.process && this.leftS() === 0) return this.become('completed', 'its time was up');
      const began = performance.now();
      const failure = await this.runOnce();
      if (this.ending.signal.aborted) return;
      if (failure === null) return this.become('completed', null);
      if (performance.now() - began > STABLE_AFTER_MS) attempt = 1;
      const wait_ms = backoffMs(RETRY, attempt++, Math.random());
      this.become('failed', `${failure}; restarting in ${(wait_ms / 1000).toFixed(1)} s`);
      await this.pause(wait_ms);
      if (this.ending.signal.aborted) return;
      this.restarts++;
      this.become('starting', null);
    }
  }

  /** null: its work is done. */
  private async runOnce(): Promise<string | null> {
    try {
      if (!this.process) {
        const [command, ...args] = this.program.command(this.spec.address, this.leftS());
        this.process = await DetachedProcess.start({ command, args, ...this.files });
      }
    } catch (error) {
      return (error as Error).message;
    }
    if (this.ending.signal.aborted) return null;
    const { process } = this;
    const watched = this.watch(process);
    const race = new AbortController();
    const aborted = new Promise<'stopped'>((resolve) => {
      this.ending.signal.addEventListener('abort', () => resolve('stopped'), { once: true, signal: race.signal });
    });
    const how = await Promise.race([process.ended, aborted]).finally(() => race.abort());
    if (how === 'stopped') return null;
    this.process = null;
    const tooLate = await watched;
    const isOver = how === 'exit code 0' || (process.adopted && this.leftS() === 0);
    if (this.program.ends && isOver) return null;
    return tooLate ?? `${how}${lastLine(tail(this.files.log_file))}`;
  }

  /** Reports when it is ready and whether it responds; returns why it was ended, if it was. */
  private async watch(process: DetachedProcess): Promise<string | null> {
    const deadline = performance.now() + READY_LIMIT_MS;
    let wasReady = false;
    let last = { output: '', at_ms: performance.now() };
    while (process.alive && !this.ending.signal.aborted) {
      const output = tail(this.files.log_file);
      const responds = !process.isStopped && (await this.program.responds(output));
      if (!process.alive || this.ending.signal.aborted) break;
      wasReady ||= responds;
      if (responds) {
        if (output !== last.output) last = { output, at_ms: performance.now() };
        this.read(output, performance.now() - last.at_ms);
        this.become('running', null);
      } else if (wasReady) {
        this.become('unresponsive', process.isStopped ? 'its process is suspended' : 'it does not answer');
      } else if (performance.now() > deadline) {
        await process.stop(STOP_GRACE_MS);
        return `not ready after ${READY_LIMIT_MS / 1000} s`;
      }
      await this.pause(wasReady ? LOOK_MS : LOOK_MS / 10);
    }
    return null;
  }

  private read(output: string, unchanged_ms: number): void {
    const { metrics, idle } = this.program;
    const latest = metrics(output);
    if (latest === null) return;
    this.metrics = idle && unchanged_ms > idle.after_ms ? { ...latest, ...idle.metrics } : latest;
  }

  private become(state: ApplicationState, detail: string | null): void {
    if (state === this.state && detail === this.detail) return;
    if (state !== this.state) this.since_ms = Date.now();
    this.state = state;
    this.detail = detail;
    this.onState();
  }

  private async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.ending.signal, ref: false }).catch(() => undefined);
  }
}

function lastLine(output: string): string {
  const line = output.trimEnd().split('\n').at(-1)?.trim();
  return line ? `: ${line.slice(0, 300)}` : '';
}
