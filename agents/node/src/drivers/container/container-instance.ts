import { Heartbeat, type HeartbeatTiming } from '../../platform/heartbeat.js';
import type { Switched } from '../acceleration.js';
import { HeartbeatSocket } from '../heartbeat-socket.js';
import type { End, InstanceListener, RunningInstance } from '../hosted-instance.js';
import type { EngineEnds } from '../nf-driver.js';
import type { DropTotal } from './drop-total.js';
import type { NfClient, NfStats } from './nf-client.js';

/** A running container NF that responds. The ID of its container is known once Docker has been asked. */
export class ContainerInstance implements RunningInstance {
  readonly ended: Promise<End>;
  /** Null: it does what its record says. */
  switched: Switched | null = null;
  /** Most of a core that its container may use; undefined: a whole one. */
  cpu_limit: number | undefined;
  private resolveEnded!: (end: End) => void;
  private over = false;
  private before: NfStats | null = null;
  private reads: Promise<void> | null = null;
  private share = 0;
  private heartbeat: Heartbeat | null = null;
  private beats: HeartbeatSocket | null = null;

  constructor(
    readonly ends: EngineEnds,
    public control: NfClient,
    public container: string | null,
    /** Whether the namespace's holder runs. Without it, the interfaces disappear when the NF ends. */
    public held: boolean,
    /** Drops of the instance over all runs of its NF. */
    private readonly total: DropTotal,
    private readonly heartbeatOf: { control: string; timing: HeartbeatTiming },
  ) {
    this.ended = new Promise((resolve) => {
      this.resolveEnded = resolve;
    });
  }

  /** Fraction of one core over the interval between the last two readings; 0 while it does not answer. */
  get cpu_share(): number {
    return this.heartbeat?.isSilent ? 0 : this.share;
  }

  watch(listener: InstanceListener): void {
    const { control, timing } = this.heartbeatOf;
    this.beats = new HeartbeatSocket(control);
    const dead = () =>
      this.end({ how: `it did not answer for ${timing.dead_ms / 1000} s and is replaced; its state is lost` });
    this.heartbeat = new Heartbeat(this.beats.beat, { ...listener, dead }, timing);
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
    this.heartbeat?.stop();
    this.beats?.close();
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
    this.share = same ? Math.max(0, now.cpu_ns - before.cpu_ns) / (now.t_ns - before.t_ns) : 0;
  }
}
