import {
  type BoardDescription,
  histogramCount,
  type InstanceFigures,
  type InstanceSample,
  type InstanceSpec,
  mergeHistograms,
  type NodeSamples,
  percentileNs,
  type ResourceUse,
} from '@orrery/contract';
import type { Limits } from './platform/cgroup.js';

type Window = Pick<NodeSamples, 'epoch' | 'clock_ms' | 'interval_ms' | 'instances'>;
type State = Record<string, unknown>;

const WINDOW_MS = 2000;
const NOT_RUNNING = 'no samples of the engine cover it yet';

/** The latest samples of a node, from which get_instance_state derives what it tells of every instance. */
export class RecentSamples {
  private samples: Window[] = [];

  take(latest: Window): void {
    const kept = this.samples.filter(
      ({ epoch, clock_ms }) =>
        epoch === latest.epoch && clock_ms > latest.clock_ms - WINDOW_MS && clock_ms < latest.clock_ms,
    );
    this.samples = [...kept, latest];
  }

  figures(instance: InstanceSpec, state: State, boards: readonly BoardDescription[]): InstanceFigures {
    const board = boards.find(({ id }) => id === instance.board?.board);
    const rates = this.rates(instance, board !== undefined);
    return {
      emulated: board?.emulated ?? false,
      ...rates,
      resources: [
        ...processing(instance, this.latest(instance.id), limitsIn(state)),
        ...memory(state),
        ...tables(state),
        ...cells(instance, board),
      ],
    };
  }

  private rates({ id, driver }: InstanceSpec, onBoard: boolean): Omit<InstanceFigures, 'emulated' | 'resources'> {
    const ofInstance = this.samples.flatMap(({ clock_ms, interval_ms, instances }) => {
      const sample = instances.find(({ instance_id }) => instance_id === id);
      return sample ? [{ clock_ms, interval_ms, sample }] : [];
    });
    const first = ofInstance[0];
    const last = ofInstance.at(-1);
    if (!first || !last || last.clock_ms === first.clock_ms)
      return {
        window_ms: 0,
        latency_us: null,
        throughput: null,
        workload: null,
        not_measured: { latency_us: NOT_RUNNING, throughput: NOT_RUNNING, workload: NOT_RUNNING },
      };
    const window_ms = last.clock_ms - first.clock_ms;
    const rate = (of: (sample: InstanceSample) => number) =>
      (Math.max(0, of(last.sample) - of(first.sample)) * 1000) / window_ms;
    // The histogram of the first lies before the window.
    const latency = mergeHistograms(ofInstance.slice(1).map(({ sample }) => sample.latency_ns));
    const packets = histogramCount(latency);
    const drops = ({ drops }: InstanceSample) => Object.values(drops).reduce((sum, count) => sum + count, 0);
    return {
      window_ms,
      latency_us:
        packets === 0
          ? null
          : { p50: percentileNs(latency, 50)! / 1000, p99: percentileNs(latency, 99)! / 1000, packets },
      throughput: { pps: rate(({ packets_out }) => packets_out), bps: 8 * rate(({ bytes_out }) => bytes_out) },
      workload: {
        pps: rate(({ packets_in }) => packets_in),
        bps: 8 * rate(({ bytes_in }) => bytes_in),
        drops_pps: rate(drops),
        queue: last.sample.queue_depth,
      },
      not_measured:
        packets > 0
          ? {}
          : {
              latency_us: onBoard
                ? 'packets carry no time stamp through a board'
                : driver === 'engine'
                  ? `no packet left it in the last ${Math.round(window_ms)} ms`
                  : 'an NF behind interfaces is measured at these, without the time in it',
            },
    };
  }

  private latest(id: string): InstanceSample | null {
    return this.samples.at(-1)?.instances.find(({ instance_id }) => instance_id === id) ?? null;
  }
}

/** Boards compute in cells; the CPU time of an emulation is the board's, not the instance's. */
function processing({ driver }: InstanceSpec, sample: InstanceSample | null, { cpus }: Partial<Limits>): ResourceUse[] {
  if (driver === 'board') return [];
  const total = driver === 'engine' ? 1 : (cpus ?? null);
  return [{ resource: 'cpu', unit: 'cores', used: sample?.cpu_share ?? null, total }];
}

function memory(state: State): ResourceUse[] {
  const bytes = (state.container as { memory_bytes?: number | null } | undefined)?.memory_bytes;
  const total = limitsIn(state).memory_bytes ?? null;
  return typeof bytes === 'number' ? [{ resource: 'memory', unit: 'bytes', used: bytes, total }] : [];
}

/** The limits that hold for an NF outside the engine, as its driver tells them in its state. */
function limitsIn({ limits }: State): Partial<Limits> {
  const { cpus, memory_bytes } = (limits ?? {}) as Record<keyof Limits, unknown>;
  return {
    ...(typeof cpus === 'number' ? { cpus } : {}),
    ...(typeof memory_bytes === 'number' ? { memory_bytes } : {}),
  };
}

/** NFs name a table's size `flow_count` or `flows`, and its capacity `max_flows`. */
function tables(state: State): ResourceUse[] {
  return Object.entries(state).flatMap(([name, total]): ResourceUse[] => {
    if (!name.startsWith('max_') || typeof total !== 'number' || total === 0) return [];
    const table = name.slice('max_'.length);
    const used = [state[`${table.replace(/s$/, '')}_count`], state[table]].find((value) => typeof value === 'number');
    return used === undefined ? [] : [{ resource: table, unit: 'entries', used: used as number, total }];
  });
}

/** What its module takes of them is known to the catalogue. */
function cells({ board: place }: InstanceSpec, board: BoardDescription | undefined): ResourceUse[] {
  const slot = board?.slots.find((each) => each.slot === place?.slot);
  return Object.entries(slot?.resources ?? {}).map(([resource, total]) => ({
    resource,
    unit: 'cells',
    used: null,
    total,
  }));
}
