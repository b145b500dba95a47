import type { End, RunningInstance } from '../hosted-instance.js';
import type { EngineEnds } from '../nf-driver.js';
import type { DropTotal } from './drop-total.js';
import type { NfClient, NfStats } from './nf-client.js';

/** A running container NF that responds. The ID of its container is known once Docker has been asked. */
export class ContainerInstance implements RunningInstance {
  readonly ended: Promise<End>;
  private resolveEnded!: (end: End) => void;
  private over = false;
  private before: NfStats | null = null;
  private reads: Promise<void> | null = null;
  /** Fraction of one core over the interval between the last two readings. */
  cpu_share = 0;

  constructor(
    readonly ends: EngineEnds,
    public control: NfClient,
    public container: string | null,
    /** Whether the namespace's holder runs. Without it, the interfaces disappear when the NF ends. */
    public held: boolean,
    /** Drops of the instance over all runs of its NF. */
    private readonly total: DropTotal,
  ) {
    this.ended = new Promise((resolve) => {
      this.resolveEnded = resolve;
    });
  }

  get alive(): boolean {
    return !this.over;
  }

  end(end: Omit<End, 'unlinked'>): void {
    if (this.over) return;
    this.release();
    this.resolveEnded({ ...end, unlinked: !this.held });
  }

  /** The next start removes the container. */
  async stop(): Promise<void> {
    this.release();
  }

  release(): void {
    this.over = true;
    this.control.close();
  }

  /** One reading at a time: concurrent callers share the one in progress. */
  sample(): Promise<void> {
    this.reads ??= this.read().finally(() => {
      this.reads = null;
    });
    return this.reads;
  }

  private async read(): Promise<void> {
    const now = await this.control.stats();
    if (this.over) return;
    const { before } = this;
    this.before = now;
    this.total.take(now);
    const same = before !== null && before.epoch === now.epoch && now.t_ns > before.t_ns;
    this.cpu_share = same ? Math.max(0, now.cpu_ns - before.cpu_ns) / (now.t_ns - before.t_ns) : 0;
  }
}
