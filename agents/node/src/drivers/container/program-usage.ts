import { monotonicMs } from '../../platform/monotonic.js';
import type { DockerClient } from './docker-client.js';

/** Docker's answer costs more than that of an NF. */
const PERIOD_MS = 1000;
const NS_PER_MS = 1e6;

interface Reading {
  at_ms: number;
  cpu_ns: number;
}

/** CPU time that programs in containers take, as Docker counts it. */
export class ProgramUsage {
  private readonly last = new Map<string, Reading & { share: number }>();
  private readonly asked = new Map<string, number>();

  constructor(
    private readonly docker: Pick<DockerClient, 'usage'>,
    private readonly clock: () => number = monotonicMs,
  ) {}

  /** Fraction of one core over the interval between the last two readings; 0 while Docker does not tell. */
  shareOf(container: string): number {
    return this.last.get(container)?.share ?? 0;
  }

  /** Asks for each of these at most once a second, and forgets all others. */
  async refresh(containers: readonly string[]): Promise<void> {
    const wanted = new Set(containers);
    for (const known of this.asked.keys()) if (!wanted.has(known)) this.forget(known);
    await Promise.all(containers.map((container) => this.ask(container)));
  }

  private async ask(container: string): Promise<void> {
    const begun_ms = this.clock();
    if (begun_ms - (this.asked.get(container) ?? Number.NEGATIVE_INFINITY) < PERIOD_MS) return;
    this.asked.set(container, begun_ms);
    try {
      const { cpu_ns } = await this.docker.usage(container);
      this.take(container, { at_ms: this.clock(), cpu_ns });
    } catch {
      this.last.delete(container);
    }
  }

  private forget(container: string): void {
    this.last.delete(container);
    this.asked.delete(container);
  }

  /** A container that was started anew counts from zero. */
  private take(container: string, now: Reading): void {
    const before = this.last.get(container);
    const grown = before ? (now.cpu_ns - before.cpu_ns) / ((now.at_ms - before.at_ms) * NS_PER_MS) : 0;
    this.last.set(container, { ...now, share: Number.isFinite(grown) ? Math.max(0, grown) : 0 });
  }
}
