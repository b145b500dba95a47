import { type Origin, parseSampleKey, type Sample, type SampleMetric, sampleKey } from '@orrery/contract';

/** An instance without reports for this long no longer counts. */
const STALE_MS = 1500;

type Metric = SampleMetric<'nf'>;
const METRICS: readonly Metric[] = ['pps', 'bps', 'cpu'];

interface Newest {
  readonly node: string;
  readonly origin: Origin;
  readonly values: Map<Metric, number>;
  /** Switches report less often than servers. */
  readonly staleMs: number;
  tMs: number;
}

/** Sums the figures of an NF's instances across servers and drivers, and thus stays valid while it moves. */
export class NfMeter {
  /** By NF (`<chain>.<node>`), then by instance. */
  private readonly nfs = new Map<string, Map<string, Newest>>();

  /** Takes all samples of a node and uses those of instances, `<NF>.<which>`. Instances that are missing are dropped. */
  take(
    node: string,
    values: readonly (readonly [key: string, value: number])[],
    origin: Origin,
    nowMs: number,
    staleMs = STALE_MS,
  ): void {
    for (const [key, value] of values) {
      const sample = parseSampleKey(key);
      const metric = METRICS.find((each) => each === sample?.metric);
      if (sample?.kind !== 'instance' || !metric) continue;
      const instance = sample.subject;
      const nf = instance.slice(0, instance.lastIndexOf('.'));
      const instances = this.nfs.get(nf) ?? new Map<string, Newest>();
      this.nfs.set(nf, instances);
      const newest = instances.get(instance) ?? {
        node,
        values: new Map<Metric, number>(),
        origin,
        staleMs,
        tMs: nowMs,
      };
      newest.values.set(metric, value);
      newest.tMs = nowMs;
      instances.set(instance, newest);
    }
    for (const instances of this.nfs.values())
      for (const [id, it] of instances) if (it.node === node && it.tMs !== nowMs) instances.delete(id);
  }

  /** Sums of the recent reports, as samples of NFs. */
  now(nowMs: number): Pick<Sample, 'key' | 'value' | 'origin'>[] {
    const out: Pick<Sample, 'key' | 'value' | 'origin'>[] = [];
    for (const [nf, instances] of this.nfs) {
      for (const [id, { tMs, staleMs }] of instances) if (nowMs - tMs > staleMs) instances.delete(id);
      const [first] = instances.values();
      if (!first) this.nfs.delete(nf);
      else
        for (const metric of METRICS)
          out.push({ key: sampleKey('nf', nf, metric), value: sum(instances, metric), origin: first.origin });
    }
    return out;
  }
}

function sum(instances: ReadonlyMap<string, Newest>, metric: Metric): number {
  let total = 0;
  for (const { values } of instances.values()) total += values.get(metric) ?? 0;
  return total;
}
