import type { Origin, Sample } from '@orrery/contract';

/** An instance that said nothing for so long runs no more. */
const STALE_MS = 1500;

const METRICS = ['pps', 'bps', 'cpu'] as const;

interface Newest {
  readonly node: string;
  readonly origin: Origin;
  readonly values: Map<string, number>;
  tMs: number;
}

/** Adds up what the instances of an NF do, whatever runs them and wherever: its figures while it moves. */
export class NfMeter {
  /** By NF (`<pipeline>.<node>`), then by instance. */
  private readonly nfs = new Map<string, Map<string, Newest>>();

  /** Takes all rates of a node; keys `instance/<NF>.<which>/<metric>` count. What it no longer names is gone. */
  take(node: string, values: readonly (readonly [key: string, value: number])[], origin: Origin, nowMs: number): void {
    for (const [key, value] of values) {
      const [kind, instance, metric] = key.split('/');
      if (kind !== 'instance' || !METRICS.some((each) => each === metric)) continue;
      const nf = instance!.slice(0, instance!.lastIndexOf('.'));
      const instances = this.nfs.get(nf) ?? new Map<string, Newest>();
      this.nfs.set(nf, instances);
      const newest = instances.get(instance!) ?? { node, values: new Map<string, number>(), origin, tMs: nowMs };
      newest.values.set(metric!, value);
      newest.tMs = nowMs;
      instances.set(instance!, newest);
    }
    for (const instances of this.nfs.values())
      for (const [id, it] of instances) if (it.node === node && it.tMs !== nowMs) instances.delete(id);
  }

  /** The sums of what was reported lately, with keys `nf/<NF>/<metric>`. */
  now(nowMs: number): Pick<Sample, 'key' | 'value' | 'origin'>[] {
    const out: Pick<Sample, 'key' | 'value' | 'origin'>[] = [];
    for (const [nf, instances] of this.nfs) {
      for (const [id, { tMs }] of instances) if (nowMs - tMs > STALE_MS) instances.delete(id);
      const [first] = instances.values();
      if (!first) this.nfs.delete(nf);
      else
        for (const metric of METRICS)
          out.push({ key: `nf/${nf}/${metric}`, value: sum(instances, metric), origin: first.origin });
    }
    return out;
  }
}

function sum(instances: ReadonlyMap<string, Newest>, metric: string): number {
  let total = 0;
  for (const { values } of instances.values()) total += values.get(metric) ?? 0;
  return total;
}
