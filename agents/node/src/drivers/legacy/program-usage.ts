import { monotonicMs } from '../../platform/monotonic.js';

/** To ask Docker, or to look through all processes, costs more than the answer of an NF. */
const PERIOD_MS = 1000;
const NS_PER_MS = 1e6;

interface Reading {
  at_ms: number;
  cpu_ns: number;
}

/** Who counts the CPU time of a program since it began; rejects while it is not known. */
export interface UsageSource {
  usage(program: string): Promise<{ cpu_ns: number }>;
}

/** CPU time that programs of legacy NFs take, each known by the name that its source has for it. */
export class ProgramUsage {
  private readonly last = new Map<string, Reading & { share: number | null }>();
  private readonly asked = new Map<string, number>();

  constructor(
    private readonly source: UsageSource,
    private readonly clock: () => number = monotonicMs,
  ) {}

  /** Fraction of one core over the interval between the last two readings; null while it is not known. */
  shareOf(program: string): number | null {
    return this.last.get(program)?.share ?? null;
  }

  /** Asks for each of these at most once a second, and forgets all others. */
  async refresh(programs: readonly string[]): Promise<void> {
    const wanted = new Set(programs);
    for (const known of this.asked.keys()) if (!wanted.has(known)) this.forget(known);
    await Promise.all(programs.map((program) => this.ask(program)));
  }

  private async ask(program: string): Promise<void> {
    const begun_ms = this.clock();
    if (begun_ms - (this.asked.get(program) ?? Number.NEGATIVE_INFINITY) < PERIOD_MS) return;
    this.asked.set(program, begun_ms);
    try {
      const { cpu_ns } = await this.source.usage(program);
      this.take(program, { at_ms: this.clock(), cpu_ns });
    } catch {
      this.last.delete(program);
    }
  }

  private forget(program: string): void {
    this.last.delete(program);
    this.asked.delete(program);
  }

  /** A program that was started anew counts from zero. */
  private take(program: string, now: Reading): void {
    // Forgotten in the meantime.
    if (!this.asked.has(program)) return;
    const before = this.last.get(program);
    const grown = before ? (now.cpu_ns - before.cpu_ns) / ((now.at_ms - before.at_ms) * NS_PER_MS) : null;
    this.last.set(program, { ...now, share: grown === null ? null : Math.max(0, grown) });
  }
}
