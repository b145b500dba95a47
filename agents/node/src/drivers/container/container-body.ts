import type { Body, End } from '../hosted-instance.js';
import type { EngineEnds } from '../nf-driver.js';
import type { BoxClient, BoxStats } from './box-client.js';
import type { DropTotal } from './drop-total.js';

/** A container NF as long as it answers. Its container is known by id once Docker was asked. */
export class ContainerBody implements Body {
  readonly ended: Promise<End>;
  private resolveEnded!: (end: End) => void;
  private over = false;
  private before: BoxStats | null = null;
  private reads: Promise<void> | null = null;
  /** Part of one core over the time between the last two readings. */
  cpu_share = 0;

  constructor(
    readonly ends: EngineEnds,
    public control: BoxClient,
    public container: string | null,
    /** Whether the namespace's holder runs. Without it the interfaces go when the NF does. */
    public held: boolean,
    /** Of its instance. */
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

  /** What starts next removes the container. */
  async stop(): Promise<void> {
    this.release();
  }

  release(): void {
    this.over = true;
    this.control.close();
  }

  /** One reading at a time: whoever asks meanwhile gets the one that is under way. */
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
