import type { InstanceSpec } from '@orrery/contract';
import { AcceleratedMode, ContainerImage, CpuLimit, Id, LegacyProgram, MetadataField, Name } from '@orrery/contract';
import { z } from 'zod';
import { backoffMs } from '../platform/backoff.js';
import type { HeartbeatListener } from '../platform/heartbeat.js';
import { monotonicMs } from '../platform/monotonic.js';
import type { EngineEnds, HostedView } from './nf-driver.js';

/** What the next agent must know about an instance that it finds. */
export const InstanceRecord = z.strictObject({
  instance_id: Id,
  nf: Name,
  config: z.record(z.string(), z.unknown()),
  metadata: z.record(z.string(), MetadataField).default({}),
  program: LegacyProgram.optional(),
  image: ContainerImage.optional(),
  cpu_limit: CpuLimit.optional(),
  acceleration: AcceleratedMode.optional(),
  digest: z.string(),
});
export type InstanceRecord = z.infer<typeof InstanceRecord>;

export const recordOf = (
  { id, nf, config, metadata, program, image, cpu_limit, acceleration }: InstanceSpec,
  digest: string,
): InstanceRecord => ({
  instance_id: id,
  nf,
  config,
  metadata,
  ...(program ? { program } : {}),
  ...(image ? { image } : {}),
  ...(cpu_limit === undefined ? {} : { cpu_limit }),
  ...(acceleration ? { acceleration } : {}),
  digest,
});

/** How an instance ended on its own. */
export interface End {
  how: string;
  /** A retry would end the same way. */
  permanent?: boolean;
  /** Its interfaces disappeared with it. */
  unlinked?: boolean;
}

export interface InstanceListener extends Pick<HeartbeatListener, 'silent' | 'back'> {
  /** It has ended; how may take a while to find out. */
  over(): void;
}

/** The process or container of an instance that runs. */
export interface RunningInstance {
  readonly ends: EngineEnds;
  readonly ended: Promise<End>;
  /** It has ended, which its listener was told; how is not known yet. */
  readonly isOver?: boolean;
  /** Why it does not count as answering, if it says so itself. */
  readonly trouble?: string | null;
  /** Called once: from now on it is told when it stops and starts answering, until it ends or is released, and that it is over. */
  watch(listener: InstanceListener): void;
  stop(): Promise<void>;
  /** Stops watching; it keeps running. */
  release(): void;
}

export interface Runner<I extends RunningInstance> {
  /** Adopts what an earlier agent started, if it still runs. */
  adopt(record: InstanceRecord): Promise<I | null>;
  /** Creates interfaces and starts it, replacing whatever is left of an earlier start. */
  start(record: InstanceRecord): Promise<I>;
  /**
   * Obtains what a start from a record needs, while what was started before may still run. Null: nothing that could be
   * lacking. Rejects if it is given up.
   */
  provide?(record: InstanceRecord): Promise<void> | null;
  /** Reconfigures it while it runs; false: it must be restarted. */
  configure(running: I, record: InstanceRecord): Promise<boolean>;
  /** Names of its interfaces in the agent's network namespace. */
  interfaces(instanceId: string): readonly string[];
  /** Sets them and their other ends up. Rejects if one is missing. */
  relink(instanceId: string): Promise<void>;
  /** Whether its interfaces exist, whether it runs or not. */
  linked(instanceId: string): Promise<boolean>;
  /** Removes what `start` created. */
  clear(instanceId: string): Promise<void>;
  /** What a start that takes long is doing; null: it does not say. */
  progress?(instanceId: string): string | null;
  /** What takes long is given up: something else is wanted. */
  abandon?(instanceId: string): void;
}

/** Callbacks for changes of an instance. */
export interface Watcher {
  changed(): void;
  ended(how: string): void;
  /** It runs but gives no sign of life. */
  silent(trouble: string | null): void;
  answers(silent_ms: number): void;
  /** It keeps running unchanged. */
  refused(why: string): void;
  /** Called before anything is created from the record. */
  taken(record: InstanceRecord): void;
  /** It was removed completely. */
  gone(): void;
}

/** A run of at least this length resets the restart delay. */
const STABLE_MS = 30_000;
const RETRY = { first_ms: 250, most_ms: 15_000 };

/**
 * Brings one instance to its desired state. Operations on it run one after the other, so that none sees it half done;
 * failed ones are retried automatically.
 */
export class HostedInstance<I extends RunningInstance> {
  running: I | null = null;
  restarts = 0;
  /** How often it ended by itself since this agent knows it. */
  ends_counted = 0;
  private target: InstanceRecord;
  private leaving = false;
  private released = false;
  private refusal: string | null = null;
  /** Records from which it can be started with what is there. */
  private readonly provided = new WeakSet<InstanceRecord>();
  /** That for which the rest is being obtained. */
  private awaited: InstanceRecord | null = null;
  private state: 'starting' | 'running' | 'failed' = 'starting';
  private detail: string | null = null;
  private permanent = false;
  private silent = false;
  private ends: EngineEnds | null = null;
  private since_ms = 0;
  private timer: NodeJS.Timeout | null = null;
  private tail: Promise<void> = Promise.resolve();

  /** `record`: what it was last made from. */
  constructor(
    public record: InstanceRecord,
    private readonly runner: Runner<I>,
    private readonly watcher: Watcher,
  ) {
    this.target = record;
  }

  get observed(): HostedView {
    const { state, detail, ends, permanent, refusal } = this;
    // An instance that is being removed has no digest, so that it is recreated if it is wanted again.
    if (this.leaving) return { digest: '', state: 'stopping', detail, ends };
    const { digest } = this.target;
    const progress = this.runner.progress?.(this.record.instance_id) ?? detail;
    if (state === 'starting') return { digest, state, detail: progress, ends, permanent };
    if (state !== 'running') return { digest, state, detail, ends, permanent };
    if (this.running?.isOver) return { digest, state: 'failed', detail: 'it has ended', ends };
    if (this.silent) return { digest, state: 'failed', detail: this.running?.trouble ?? 'it does not answer', ends };
    if (refusal !== null) return { digest, state: 'failed', detail: refusal, ends, permanent: true };
    if (this.record !== this.target) return { digest, state: 'starting', detail: progress, ends, permanent };
    return { digest, state, detail, ends, permanent };
  }

  inTurn(work: () => Promise<void>): Promise<void> {
    const result = this.tail.then(work);
    this.tail = result.catch(() => undefined);
    return result;
  }

  /** Adopts what an earlier agent started, if it still runs. Never rejects. */
  adopt(): Promise<void> {
    return this.inTurn(async () => {
      const running = await this.runner.adopt(this.record).catch(() => null);
      if (running) this.attach(running);
    });
  }

  /** Resolves after one attempt at the next step towards the desired state. Never rejects. */
  launch(): Promise<void> {
    return this.inTurn(() => (this.leaving ? this.takeAway().catch(() => undefined) : this.advance()));
  }

  /** If it refuses the configuration, it keeps running with the old one and reports why. */
  configure(record: InstanceRecord): Promise<void> {
    this.runner.abandon?.(record.instance_id);
    this.target = record;
    this.leaving = false;
    this.refusal = null;
    this.permanent = false;
    this.restarts = 0;
    // What was wrong with the configuration before does not count for this one.
    this.state = this.running ? 'running' : 'starting';
    if (this.running) this.detail = null;
    return this.launch();
  }

  /** Retries now, including what failed permanently. */
  retry(): Promise<void> {
    return this.timer || this.permanent ? this.launch() : Promise.resolve();
  }

  /** Rejects if it could not be removed now. */
  destruct(): Promise<void> {
    this.runner.abandon?.(this.record.instance_id);
    this.leaving = true;
    this.detail = null;
    this.restarts = 0;
    return this.inTurn(() => this.takeAway());
  }

  /** Restarts it with new interfaces. Never rejects. */
  recreate(why: string): Promise<void> {
    return this.inTurn(async () => {
      const { running } = this;
      if (!running || this.leaving || this.released) return;
      this.running = null;
      await running.stop();
      this.failed({ how: why, unlinked: true });
    });
  }

  /** Leaves it unchanged; nothing starts afterwards. */
  release(): void {
    this.released = true;
    this.rest();
    this.running?.release();
  }

  private async advance(): Promise<void> {
    if (this.released) return;
    this.rest();
    try {
      if (this.running && this.record !== this.target && this.canStart()) await this.change(this.running);
      if (!this.running) await this.start();
    } catch (error) {
      const { message, permanent } = error as Error & { permanent?: boolean };
      const unlinked = !(await this.runner.linked(this.record.instance_id));
      this.failed({ how: message, permanent, unlinked });
    }
  }

  private async start(): Promise<void> {
    // After it refused a configuration, and until the rest for one is there, it starts with the old one.
    if (this.refusal === null && this.canStart()) this.take(this.target);
    this.rest();
    this.attach(await this.runner.start(this.record));
  }

  private async change(running: I): Promise<void> {
    const { target } = this;
    try {
      const inPlace = target.nf === this.record.nf && (await this.runner.configure(running, target));
      this.take(target);
      if (inPlace && this.running) this.runs();
      if (inPlace) return;
    } catch (error) {
      const { message, permanent } = error as Error & { permanent?: boolean };
      if (!permanent) throw error;
      if (target === this.target) this.refuse(message);
      return;
    }
    this.running = null;
    this.state = 'starting';
    this.watcher.changed();
    await running.stop();
  }

  /**
   * Whether nothing speaks against giving up a configuration that can be started for the desired one. Otherwise the
   * rest is obtained meanwhile, outside of its turn: what runs can be relinked and restarted.
   */
  private canStart(): boolean {
    const { record, target } = this;
    if (record === target || this.provided.has(target) || !this.provided.has(record)) return true;
    if (this.awaited === target) return false;
    const work = this.runner.provide?.(target);
    if (!work) return true;
    this.awaited = target;
    this.watcher.changed();
    work.then(
      () => this.obtained(target, null),
      (error) => this.obtained(target, error),
    );
    return false;
  }

  private obtained(target: InstanceRecord, failure: (Error & { permanent?: boolean }) | null): void {
    if (this.awaited === target) this.awaited = null;
    if (!failure) this.provided.add(target);
    if (target !== this.target || this.leaving || this.released) return;
    if (!failure) void this.launch();
    else if (failure.permanent) this.refuse(failure.message);
    else this.failed({ how: failure.message });
  }

  private take(record: InstanceRecord): void {
    if (record === this.record) return;
    this.watcher.taken(record);
    this.record = record;
  }

  private async takeAway(): Promise<void> {
    // It is wanted again, or is gone.
    if (!this.leaving || this.released) return;
    this.rest();
    const { running } = this;
    this.running = null;
    this.state = 'starting';
    try {
      await running?.stop();
      await this.runner.clear(this.record.instance_id);
    } catch (error) {
      this.detail = (error as Error).message;
      this.again();
      this.watcher.changed();
      throw error;
    }
    this.ends = null;
    if (!this.leaving) return;
    this.released = true;
    this.watcher.gone();
  }

  private rest(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
  }

  private again(): void {
    this.rest();
    this.restarts++;
    const wait_ms = backoffMs(RETRY, this.restarts, Math.random());
    this.timer = setTimeout(() => void this.launch(), wait_ms).unref();
  }

  private attach(running: I): void {
    if (this.released) running.release();
    this.running = running;
    this.provided.add(this.record);
    this.ends = running.ends;
    this.silent = false;
    this.since_ms = monotonicMs();
    running.watch({
      silent: () => this.hear(running, true, () => this.watcher.silent(running.trouble ?? null)),
      back: (silent_ms) => this.hear(running, false, () => this.watcher.answers(silent_ms)),
      over: () => {
        if (this.running === running) this.watcher.changed();
      },
    });
    running.ended.then((end) => {
      if (this.running !== running || this.released || this.leaving) return;
      if (monotonicMs() - this.since_ms > STABLE_MS) this.restarts = 0;
      this.ends_counted++;
      this.running = null;
      this.failed(end);
    });
    this.runs();
  }

  private hear(running: I, silent: boolean, tell: () => void): void {
    if (this.running !== running || this.released || this.leaving) return;
    this.silent = silent;
    tell();
    this.watcher.changed();
  }

  private runs(): void {
    this.state = 'running';
    this.detail = null;
    this.permanent = false;
    this.watcher.changed();
  }

  private refuse(why: string): void {
    this.refusal = why;
    this.watcher.refused(why);
    this.watcher.changed();
  }

  private failed({ how, permanent = false, unlinked = false }: End): void {
    const told = this.state === 'failed' && this.detail === how;
    this.state = 'failed';
    this.detail = how;
    this.permanent = permanent;
    if (unlinked) this.ends = null;
    // What goes on running has not ended: a new configuration cannot be had yet.
    if (!told && this.running) this.watcher.refused(how);
    else if (!told) this.watcher.ended(how);
    if (!this.released && !permanent) this.again();
    this.watcher.changed();
  }
}
