import type { InstanceSpec } from '@orrery/contract';
import { Id, MetadataField, Name } from '@orrery/contract';
import { z } from 'zod';
import { backoffMs } from '../platform/backoff.js';
import type { EngineEnds, HostedInstance as Observed } from './nf-driver.js';

/** What the next agent must know of an instance that it finds. */
export const InstanceRecord = z.strictObject({
  instance_id: Id,
  nf: Name,
  config: z.record(z.string(), z.unknown()),
  metadata: z.record(z.string(), MetadataField).default({}),
  digest: z.string(),
});
export type InstanceRecord = z.infer<typeof InstanceRecord>;

export const recordOf = ({ id, nf, config, metadata }: InstanceSpec, digest: string): InstanceRecord => ({
  instance_id: id,
  nf,
  config,
  metadata,
  digest,
});

/** How an instance ended by itself. */
export interface End {
  how: string;
  /** The same again would end the same way. */
  permanent?: boolean;
  /** Its interfaces went with it. */
  unlinked?: boolean;
}

/** An instance as long as it runs. */
export interface Body {
  readonly ends: EngineEnds;
  readonly ended: Promise<End>;
  stop(): Promise<void>;
  /** Stops watching; it goes on. */
  release(): void;
}

export interface Runner<B extends Body> {
  /** Takes over what an earlier agent started and what still runs. */
  adopt(record: InstanceRecord): Promise<B | null>;
  /** Makes interfaces and starts it, over whatever is left of an earlier start. */
  start(record: InstanceRecord): Promise<B>;
  /** Changes it while it runs; false: it must start again. */
  configure(body: B, record: InstanceRecord): Promise<boolean>;
  /** Whether its interfaces are there, whatever became of it. */
  linked(instanceId: string): Promise<boolean>;
  /** Takes away what `start` made. */
  clear(instanceId: string): Promise<void>;
}

/** A failure after this long says nothing about the next start. */
const STABLE_MS = 30_000;
const RESTART = { first_ms: 250, most_ms: 15_000 };

/** One instance and its restarts. What is done to it goes one after the other, so that nothing meets it half made. */
export class HostedInstance<B extends Body> {
  body: B | null = null;
  restarts = 0;
  private state: Observed['state'] = 'starting';
  private detail: string | null = null;
  private permanent = false;
  private ends: EngineEnds | null = null;
  private since_ms = 0;
  private timer: NodeJS.Timeout | null = null;
  private over = false;
  private tail: Promise<void> = Promise.resolve();

  constructor(
    public record: InstanceRecord,
    private readonly runner: Runner<B>,
    private readonly onChange: () => void,
    private readonly onEnded: (how: string) => void,
  ) {}

  get observed(): Observed {
    const { state, detail, ends, permanent } = this;
    // What is on its way out is made from nothing, so that whoever wants it back has it made again.
    return { digest: this.over ? '' : this.record.digest, state, detail, ends, permanent };
  }

  inTurn(work: () => Promise<void>): Promise<void> {
    const result = this.tail.then(work);
    this.tail = result.catch(() => undefined);
    return result;
  }

  /** Never rejects: what cannot be started now is reported, and tried again later unless that is in vain. */
  launch(find?: (record: InstanceRecord) => Promise<B | null>): Promise<void> {
    return this.inTurn(async () => {
      if (this.body || this.over) return;
      this.rest();
      try {
        this.attach((await find?.(this.record)) ?? (await this.runner.start(this.record)));
      } catch (error) {
        const permanent = (error as { permanent?: boolean }).permanent;
        const unlinked = !(await this.runner.linked(this.record.instance_id));
        this.failed({ how: (error as Error).message, permanent, unlinked });
      }
    });
  }

  /** Rejects, and leaves it as it was, when it refuses the record. */
  async configure(record: InstanceRecord, remember: (record: InstanceRecord) => void): Promise<void> {
    await this.inTurn(async () => {
      const { body } = this;
      const inPlace = body !== null && record.nf === this.record.nf && (await this.runner.configure(body, record));
      remember(record);
      this.record = record;
      this.over = false;
      if (inPlace) return;
      this.restarts = 0;
      this.body = null;
      await body?.stop();
    });
    await this.launch();
  }

  /** Waits no longer for another start. */
  retry(): Promise<void> {
    return this.timer ? this.launch() : Promise.resolve();
  }

  destruct(): Promise<void> {
    return this.inTurn(async () => {
      this.over = true;
      this.rest();
      this.state = 'stopping';
      const { body } = this;
      this.body = null;
      await body?.stop();
      await this.runner.clear(this.record.instance_id);
    });
  }

  /** Leaves it as it is; no start is begun after. */
  release(): void {
    this.over = true;
    this.rest();
    this.body?.release();
  }

  private rest(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
  }

  private attach(body: B): void {
    if (this.over) body.release();
    this.body = body;
    this.state = 'running';
    this.detail = null;
    this.permanent = false;
    this.ends = body.ends;
    this.since_ms = Date.now();
    body.ended.then((end) => {
      if (this.body !== body || this.over) return;
      if (Date.now() - this.since_ms > STABLE_MS) this.restarts = 0;
      this.body = null;
      this.failed(end);
    });
    this.onChange();
  }

  private failed({ how, permanent = false, unlinked = false }: End): void {
    const told = this.state === 'failed' && this.detail === how;
    this.state = 'failed';
    this.detail = how;
    this.permanent = permanent;
    if (unlinked) this.ends = null;
    this.restarts++;
    if (!told) this.onEnded(how);
    if (!this.over && !permanent)
      this.timer = setTimeout(() => void this.launch(), backoffMs(RESTART, this.restarts, Math.random())).unref();
    this.onChange();
  }
}
