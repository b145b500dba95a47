import type { Body, End } from '../hosted-instance.js';
import type { EngineEnds } from '../nf-driver.js';
import type { BoxClient, BoxStats } from './box-client.js';

export interface Figures {
  drops: Record<string, number>;
  /** Part of one core over the time between the last two readings. */
  cpu_share: number;
}

/** A container NF as long as it answers. Its container is known by id once Docker was asked. */
export class ContainerBody implements Body {
  readonly ended: Promise<End>;
  private resolveEnded!: (end: End) => void;
  private over = false;
  private before: BoxStats | null = null;
  figures: Figures = { drops: {}, cpu_share: 0 };

  constructor(
    readonly ends: EngineEnds,
    public control: BoxClient,
    public container: string | null,
    /** Whether the namespace's holder runs. Without it the interfaces go when the NF does. */
    public held: boolean,
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

  async sample(): Promise<void> {
    const now = await this.control.stats();
    const { before } = this;
    this.before = now;
    const same = before !== null && before.epoch === now.epoch && now.t_ns > before.t_ns;
    const cpu_share = same ? Math.max(0, now.cpu_ns - before.cpu_ns) / (now.t_ns - before.t_ns) : 0;
    this.figures = { drops: now.drops, cpu_share };
  }
}
