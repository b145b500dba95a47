import {
  type InstanceSample,
  type SampleMetric,
  type SwitchNfSample,
  type SwitchSamples,
  sampleKey,
} from '@orrery/contract';

/** A set that arrives later than this share of its interval after it: others between were lost, or it was delayed. */
const LATE_SHARE = 0.5;

/** Counters of an NF on a switch as those of one on a server: it has no queue, no core, and no clock in front and behind. */
export function nfCounters(nf: SwitchNfSample): InstanceSample {
  return { ...nf, queue_depth: 0, cpu_share: null, latency_ns: [] };
}

/** Turns the counters of the NFs on one switch into rates, as `SwitchRates` those of its rules. */
export class SwitchNfRates {
  private before: { readonly nfs: ReadonlyMap<string, SwitchNfSample>; readonly at_ms: number } | null = null;

  /** `at_ms`: when they arrived, of a monotonic clock. */
  take({ interval_ms, nfs = [] }: SwitchSamples, at_ms: number): (readonly [key: string, value: number])[] {
    const { before } = this;
    this.before = { at_ms, nfs: new Map(nfs.map((nf) => [nf.instance_id, nf])) };
    if (before === null || at_ms - before.at_ms > (1 + LATE_SHARE) * interval_ms) return [];
    const seconds = interval_ms / 1000;
    return nfs.flatMap((now) => {
      const past = before.nfs.get(now.instance_id);
      const rate = (of: (nf: SwitchNfSample) => number) => grown(of(now), past && of(past)) / seconds;
      const put = (metric: SampleMetric<'instance'>, value: number) =>
        [sampleKey('instance', now.instance_id, metric), value] as const;
      return [
        put(
          'pps',
          rate(({ packets_in }) => packets_in),
        ),
        put('bps', 8 * rate(({ bytes_in }) => bytes_in)),
        put(
          'out_pps',
          rate(({ packets_out }) => packets_out),
        ),
        put('out_bps', 8 * rate(({ bytes_out }) => bytes_out)),
        put(
          'drops_pps',
          rate(({ drops }) => Object.values(drops).reduce((sum, one) => sum + one, 0)),
        ),
      ];
    });
  }
}

/** Increase of a counter that starts at zero with its owner. */
function grown(now: number, past: number | undefined): number {
  return past === undefined || now < past ? now : now - past;
}
