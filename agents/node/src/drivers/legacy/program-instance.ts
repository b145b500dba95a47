import type { DetachedProcess } from '../../platform/detached-process.js';
import { Heartbeat, type HeartbeatTiming } from '../../platform/heartbeat.js';
import type { End, RunningInstance, SilenceListener } from '../hosted-instance.js';
import type { EngineEnds } from '../nf-driver.js';
import { vethLinks } from '../veth-names.js';
import type { AskReport, Figures } from './program-report.js';

const STOP_GRACE_MS = 2000;

/** What an instance needs of its network namespace. */
export interface Held {
  readonly holder: Pick<DetachedProcess, 'pid' | 'ended' | 'release'>;
  killMembers(): void;
}

/** A legacy NF that runs: the process that holds its network namespace, and the program in it if there is one. */
export class ProgramInstance implements RunningInstance {
  readonly ends: EngineEnds;
  readonly ended: Promise<End>;
  /** Of its latest report. */
  figures: Figures = {};
  private heartbeat: Heartbeat | null = null;
  /** Why it was killed. */
  private verdict: string | null = null;

  constructor(
    instanceId: string,
    private readonly held: Held,
    /** Null: the kernel does the work. */
    private readonly program: DetachedProcess | null,
    private readonly timing: HeartbeatTiming,
    /** Null: it cannot be asked. */
    private readonly ask: AskReport | null = null,
    /** How the program ended, in words. */
    explain = async (how: string) => `the process ended: ${how}`,
  ) {
    const { near, far } = vethLinks(instanceId);
    this.ends = { near: near.engine, far: far.engine };
    const unheld = held.holder.ended.then((how) => ({ how: `its network namespace is gone: ${how}`, unlinked: true }));
    const over = program?.ended.then(async (how) => ({ how: this.verdict ?? (await explain(how)) }));
    this.ended = Promise.race([unheld, ...(over ? [over] : [])]).finally(() => this.heartbeat?.stop());
  }

  /** Null: the kernel does the work. */
  get programPid(): number | null {
    return this.program?.pid ?? null;
  }

  get pid(): number {
    return (this.program ?? this.held.holder).pid;
  }

  get isSilent(): boolean {
    return this.heartbeat?.isSilent ?? false;
  }

  /** A program that cannot be asked counts as silent while it is stopped by a signal. */
  watch(listener: SilenceListener): void {
    const { program, timing } = this;
    if (!program) return;
    const beat = async () => {
      if (program.isStopped) throw new Error('stopped');
      if (this.ask) this.figures = await this.ask();
    };
    const dead = () => {
      const what = program.isStopped ? 'was stopped' : 'did not report';
      this.verdict = `the process ${what} for ${timing.dead_ms / 1000} s and was killed`;
      program.kill();
    };
    this.heartbeat = new Heartbeat(beat, { ...listener, dead }, timing);
  }

  /** Its network namespace remains. */
  async stop(): Promise<void> {
    this.heartbeat?.stop();
    await this.program?.stop(STOP_GRACE_MS);
    this.held.killMembers();
  }

  release(): void {
    this.heartbeat?.stop();
    this.program?.release();
    this.held.holder.release();
  }
}
