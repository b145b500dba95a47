/** For how long a VNF must have run in software until its figures of the last second are of software alone. */
const SETTLED_MS = 2000;
/** Below this rate, what a VNF uses says little about its cost. */
const LEAST_BPS = 100_000;

interface Observed {
  /** Monotonic clock: since when it has been seen in software; null: it is accelerated. */
  softwareSinceMs: number | null;
  /** Cores for each bit/s, in software; null: not measured yet. */
  cost: number | null;
}

/** What a VNF does now. Null: not measured; its CPU is not while it is on a board. */
export interface Figures {
  readonly accelerated: boolean;
  readonly cpu_share: number | null;
  readonly bps: number | null;
}

/**
 * What VNFs would use of a core in software. An accelerated VNF uses less for the same traffic: compared with thresholds for
 * software, it would give up its accelerator, be overloaded, and get it back.
 */
export class SoftwareCost {
  private readonly observed = new Map<string, Observed>();

  /** Share of a core; null: not measured lately. */
  coresOf(vnf: string, { accelerated, cpu_share, bps }: Figures, nowMs: number): number | null {
    const seen = this.observed.get(vnf) ?? { softwareSinceMs: null, cost: null };
    this.observed.set(vnf, seen);
    seen.softwareSinceMs = accelerated ? null : (seen.softwareSinceMs ?? nowMs);
    if (bps === null) return cpu_share;
    if (seen.softwareSinceMs === null) {
      const inSoftware = seen.cost === null ? null : bps * seen.cost;
      return cpu_share === null ? inSoftware : Math.max(cpu_share, inSoftware ?? 0);
    }
    if (cpu_share === null) return null;
    if (nowMs - seen.softwareSinceMs >= SETTLED_MS && bps >= LEAST_BPS) seen.cost = cpu_share / bps;
    return cpu_share;
  }

  keepOnly(vnfs: ReadonlySet<string>): void {
    for (const id of this.observed.keys()) if (!vnfs.has(id)) this.observed.delete(id);
  }
}
