import {
  type ExitSample,
  histogramCount,
  type InstanceSample,
  type ModuleSample,
  type NodeSamples,
  percentileNs,
  type SampleMetric,
  type SchedulerSample,
  sampleKey,
} from '@orrery/contract';

export interface ExitDelta {
  readonly exit_id: string;
  readonly packets: number;
  readonly bytes: number;
  readonly latency_ns: ExitSample['latency_ns'];
}

export interface NodeRates {
  readonly t_ms: number;
  readonly interval_ms: number;
  readonly values: readonly (readonly [key: string, value: number])[];
  readonly exits: readonly ExitDelta[];
}

interface Before {
  readonly epoch: string;
  readonly seq: number;
  readonly clock_ms: number;
  readonly instances: ReadonlyMap<string, InstanceSample>;
  readonly exits: ReadonlyMap<string, ExitSample>;
  readonly modules: ReadonlyMap<string, ModuleSample>;
}

/** Why an engine drops packets in front of an instance. */
const QUEUE_FULL = 'queue_full';
/** Why a merge gives up packets of which a copy has not come, or has had to wait for too long. */
const GIVEN_UP = ['copy_lost', 'table_full'] as const;

/**
 * Turns the counters of one node into rates. The first set is the baseline: of its counts only those of the exits within
 * its interval are known, by their histograms. After a new epoch or a decreased counter, counting starts from zero.
 */
export class CounterRates {
  private before: Before | null = null;

  /** `isMerge`: whether a module is the merge of a parallel step. */
  constructor(
    private readonly node: string,
    private readonly isMerge: (moduleId: string) => boolean,
  ) {}

  /** Null for a repeated set. */
  take(samples: NodeSamples): NodeRates | null {
    const { before } = this;
    const sameEpoch = before !== null && before.epoch === samples.epoch;
    if (sameEpoch && samples.seq <= before.seq) return null;
    this.before = standOf(samples);
    if (before === null) {
      const { t_ms, interval_ms } = samples;
      return { t_ms, interval_ms, values: [], exits: samples.exits.map(withinInterval) };
    }
    const elapsedMs = sameEpoch ? samples.clock_ms - before.clock_ms : samples.interval_ms;
    const seconds = Math.max(elapsedMs, 1) / 1000;
    const values: [string, number][] = [[sampleKey('node', this.node, 'cpu'), samples.cpu_share]];
    for (const now of samples.instances) {
      const past = sameEpoch ? before.instances.get(now.instance_id) : undefined;
      const put = (metric: SampleMetric<'instance'>, value: number) =>
        values.push([sampleKey('instance', now.instance_id, metric), value]);
      put('pps', delta(now.packets_in, past?.packets_in) / seconds);
      put('bps', (8 * delta(now.bytes_in, past?.bytes_in)) / seconds);
      put('out_pps', delta(now.packets_out, past?.packets_out) / seconds);
      put('out_bps', (8 * delta(now.bytes_out, past?.bytes_out)) / seconds);
      put('drops_pps', delta(total(now.drops), past && total(past.drops)) / seconds);
      put('full_pps', delta(now.drops[QUEUE_FULL] ?? 0, past?.drops[QUEUE_FULL]) / seconds);
      if (now.cpu_share !== null) put('cpu', now.cpu_share);
      put('queue', now.queue_depth);
      const p50 = percentileNs(now.latency_ns, 50);
      const p99 = percentileNs(now.latency_ns, 99);
      if (p50 !== null && p99 !== null) {
        put('latency_p50_us', p50 / 1000);
        put('latency_p99_us', p99 / 1000);
      }
    }
    for (const now of samples.modules) {
      const past = sameEpoch ? before.modules.get(now.module_id) : undefined;
      values.push(...moduleValues(now, past, seconds, this.isMerge(now.module_id)));
    }
    values.push(...schedulerValues(this.node, samples.schedulers));
    const exits = samples.exits.map((now) => {
      const past = sameEpoch ? before.exits.get(now.exit_id) : undefined;
      return {
        exit_id: now.exit_id,
        packets: delta(now.packets, past?.packets),
        bytes: delta(now.bytes, past?.bytes),
        latency_ns: now.latency_ns,
      };
    });
    return { t_ms: samples.t_ms, interval_ms: elapsedMs, values, exits };
  }
}

function moduleValues(
  now: ModuleSample,
  past: ModuleSample | undefined,
  seconds: number,
  isMerge: boolean,
): [string, number][] {
  const { module_id, drops } = now;
  const of = (metric: SampleMetric<'module'>, value: number): [string, number] => [
    sampleKey('module', module_id, metric),
    value,
  ];
  const rate = (growth: number) => growth / seconds;
  const given = GIVEN_UP.reduce((sum, reason) => sum + delta(drops[reason] ?? 0, past?.drops[reason]), 0);
  return [
    of('pps', rate(delta(now.packets_in, past?.packets_in))),
    of('out_pps', rate(delta(now.packets_out, past?.packets_out))),
    of('drops_pps', rate(delta(total(drops), past && total(past.drops)))),
    ...(isMerge ? [of('lost_pps', rate(given))] : []),
    of('waiting', now.waiting),
    of('cpu', now.cpu_share),
  ];
}

function schedulerValues(node: string, schedulers: readonly SchedulerSample[]): [string, number][] {
  return schedulers.flatMap(({ core, nodes }) =>
    nodes.flatMap(({ id, cpu_share, pps, bps, polling_share }): [string, number][] => {
      const subject = `${node} ${core} ${id}`;
      return [
        [sampleKey('scheduler', subject, 'cpu'), cpu_share],
        [sampleKey('scheduler', subject, 'pps'), pps],
        [sampleKey('scheduler', subject, 'bps'), bps],
        [sampleKey('scheduler', subject, 'polling'), polling_share],
      ];
    }),
  );
}

/** What left within the interval of a set, without a set before it. */
function withinInterval({ exit_id, packets: all, bytes, latency_ns }: ExitSample): ExitDelta {
  const packets = Math.min(histogramCount(latency_ns), all);
  return { exit_id, packets, bytes: all === 0 ? 0 : Math.round((bytes * packets) / all), latency_ns };
}

function standOf({ epoch, seq, clock_ms, instances, exits, modules }: NodeSamples): Before {
  return {
    epoch,
    seq,
    clock_ms,
    instances: new Map(instances.map((each) => [each.instance_id, each])),
    exits: new Map(exits.map((each) => [each.exit_id, each])),
    modules: new Map(modules.map((each) => [each.module_id, each])),
  };
}

/** Increase of a counter that starts at zero with its owner. */
function delta(now: number, past: number | undefined): number {
  return past === undefined || now < past ? now : now - past;
}

function total(drops: Readonly<Record<string, number>>): number {
  return Object.values(drops).reduce((sum, count) => sum + count, 0);
}
