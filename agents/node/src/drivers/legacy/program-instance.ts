import type { DetachedProcess } from '../../platform/detached-process.js';
import { Heartbeat, type HeartbeatTiming } from '../../platform/heartbeat.js';
import { log } from '../../platform/log.js';
import type { End, InstanceListener, RunningInstance } from '../hosted-instance.js';
import type { EngineEnds } from '../nf-driver.js';
import { vethLinks } from '../veth-names.js';
import { tooMuchOnDisk } from './disk-use.js';
import type { DiskWatch } from './disk-watch.js';
import type { AskReport, Figures } from './program-report.js';

const STOP_GRACE_MS = 2000;

/** What an instance needs of its network namespace. */
export interface Held {
  readonly holder: Pick<DetachedProcess, 'pid' | 'ended' | 'release'>;
  killMembers(): void;
}

/** What is wrong with a program that runs, in words. */
export class Trouble extends Error {
  override name = 'Trouble';
}

export interface Observation {
  timing: HeartbeatTiming;
  /** Null: it cannot be asked. */
  ask?: AskReport | null;
  /** Ends what a signal does not reach; absent: one does. */
  kill?(): Promise<void>;
  /** How the program ended, in words. */
  explain?(how: string): Promise<string>;
  /** Null: what it has on disk is not watched. */
  disk?: DiskWatch | null;
}

/** A legacy NF that runs: the process that holds its network namespace, and the program in it if there is one. */
export class ProgramInstance implements RunningInstance {
  readonly ends: EngineEnds;
  readonly ended: Promise<End>;
  /** Of its latest report. */
  figures: Figures = {};
  /** What is wrong with it, as far as its health check says; null: nothing, or it does not say. */
  trouble: string | null = null;
  /** Its program has ended; how may take a while to find out. */
  isOver = false;
  private heartbeat: Heartbeat | null = null;
  /** Why it was killed. */
  private verdict: string | null = null;

  constructor(
    instanceId: string,
    private readonly held: Held,
    /** Null: the kernel does the work. */
    private readonly program: DetachedProcess | null,
    private readonly observation: Observation,
  ) {
    const { explain = async (how: string) => `the process ended: ${how}` } = observation;
    const { near, far } = vethLinks(instanceId);
    this.ends = { near: near.engine, far: far.engine };
    const unheld = held.holder.ended.then((how) => ({ how: `its network namespace is gone: ${how}`, unlinked: true }));
    const over = program?.ended.then(async (how) => {
      this.isOver = true;
      return { how: this.verdict ?? (await explain(how)) };
    });
    this.ended = Promise.race([unheld, ...(over ? [over] : [])]).finally(() => this.rest());
  }

  /** Null: the kernel does the work. */
  get programPid(): number | null {
    return this.program?.pid ?? null;
  }

  get pid(): number {
    return (this.program ?? this.held.holder).pid;
  }

  /** What its program has on disk; null: not known. */
  get disk_bytes(): number | null {
    return this.observation.disk?.used_bytes ?? null;
  }

  /** Why that is not known; null: all could be read. */
  get disk_unread(): string | null {
    return this.observation.disk?.unread ?? null;
  }

  get isSilent(): boolean {
    return this.heartbeat?.isSilent ?? false;
  }

  /** A program that cannot be asked counts as silent while it is stopped by a signal. */
  watch(listener: InstanceListener): void {
    const { program } = this;
    const { timing, ask, disk } = this.observation;
    if (!program) return;
    const beat = async () => {
      try {
        if (program.isStopped) throw new Error('stopped');
        if (ask) this.figures = await ask();
        this.trouble = null;
      } catch (error) {
        this.trouble = error instanceof Trouble ? error.message : null;
        throw error;
      }
    };
    const dead = () => {
      const what = program.isStopped ? 'was stopped' : 'did not report';
      const dead_s = timing.dead_ms / 1000;
      this.verdict =
        this.trouble === null
          ? `the process ${what} for ${dead_s} s and was killed`
          : `${this.trouble}; after ${dead_s} s of that it was killed`;
      program.kill();
      this.observation.kill?.().catch((error) => log('warning', `a container is not killed: ${error.message}`));
    };
    void program.ended.then(() => listener.over());
    this.heartbeat = new Heartbeat(beat, { ...listener, dead }, timing);
    disk?.start(() => {
      this.verdict = tooMuchOnDisk(disk.watched.limit_bytes);
      program.kill();
      this.held.killMembers();
    });
  }

  /** Its network namespace remains. */
  async stop(): Promise<void> {
    this.rest();
    await this.program?.stop(STOP_GRACE_MS);
    this.held.killMembers();
  }

  release(): void {
    this.rest();
    this.program?.release();
    this.held.holder.release();
  }

  private rest(): void {
    this.heartbeat?.stop();
    this.observation.disk?.stop();
  }
}
