import type { ElementState } from '@orrery/contract';

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

/**
 * What VNFs would use of a core in software. An accelerated VNF uses less for the same traffic: compared with thresholds for
 * software, it would give up its accelerator, be overloaded, and get it back.
 */
export class SoftwareCost {
  private readonly observed = new Map<string, Observed>();

  /** Share of a core; null: not measured lately. */
  coresOf({ instance_id, accelerated, cpu_share, bps }: ElementState, nowMs: number): number | null {
    const seen = this.observed.get(instance_id) ?? { softwareSinceMs: null, cost: null };
    this.observed.set(instance_id, seen);
    seen.softwareSinceMs = accelerated ? null : (seen.softwareSinceMs ?? nowMs);
    if (cpu_share === null || bps === null) return cpu_share;
    if (seen.softwareSinceMs === null) return Math.max(cpu_share, bps * (seen.cost ?? 0));
    if (nowMs - seen.softwareSinceMs >= SETTLED_MS && bps >= LEAST_BPS) seen.cost = cpu_share / bps;
    return cpu_share;
  }

  keepOnly(instanceIds: ReadonlySet<string>): void {
    for (const id of this.observed.keys()) if (!instanceIds.has(id)) this.observed.delete(id);
  }
}
