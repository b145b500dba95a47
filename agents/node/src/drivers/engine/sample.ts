import type {
  EngineStats,
  ExitSample,
  InstanceSample,
  ModuleSample,
  NodeSamples,
  SchedulerSample,
  SparseHistogram,
  SplitSample,
} from '@orrery/contract';
import type { InstanceProbe, ModuleProbe, Probes, SchedulerProbe, SplitProbe } from '../nf-driver.js';
import { bytestreamOf } from './names.js';

type Module = EngineStats['modules'][number];
type Port = EngineStats['ports'][number];
type Scheduled = EngineStats['schedulers'][number]['nodes'][number];

/** One reading of the engine, indexed by name. */
export interface Reading {
  stats: EngineStats;
  modules: ReadonlyMap<string, Module>;
  ports: ReadonlyMap<string, Port>;
  /** Nodes of scheduler trees by worker and name. */
  scheduled: ReadonlyMap<string, Scheduled>;
}

export function reading(stats: EngineStats): Reading {
  return {
    stats,
    modules: new Map(stats.modules.map((module) => [module.name, module])),
    ports: new Map(stats.ports.map((port) => [port.name, port])),
    scheduled: new Map(
      stats.schedulers.flatMap(({ worker, nodes }) =>
        nodes.map((node) => [scheduledKey(worker, node.id), node] as const),
      ),
    ),
  };
}

function scheduledKey(worker: number, node: string): string {
  return `${worker} ${node}`;
}

/** The increase: a counter below its previous value has restarted from zero. */
const since = (now: number, before: number | undefined) => (before === undefined || now < before ? now : now - before);

export function histogramSince(now: SparseHistogram | null, before: SparseHistogram | null): SparseHistogram {
  const old = new Map(before ?? []);
  const restarted = (now ?? []).some(([bucket, count]) => count < (old.get(bucket) ?? 0));
  return (now ?? [])
    .map(([bucket, count]): [number, number] => [bucket, restarted ? count : count - (old.get(bucket) ?? 0)])
    .filter(([, count]) => count > 0);
}

/** Figures of the interval between two readings in one epoch. The caller adds `seq`, `lost` and wall-clock time. */
export function sampleBetween(
  before: Reading,
  now: Reading,
  probes: Probes,
): Pick<
  NodeSamples,
  'epoch' | 'clock_ms' | 'interval_ms' | 'cpu_share' | 'instances' | 'exits' | 'modules' | 'splits' | 'schedulers'
> {
  const elapsed_ns = now.stats.t_ns - before.stats.t_ns;
  const cycles = (elapsed_ns / 1e9) * now.stats.cycles_per_second;
  const cpu_ns = now.stats.workers.reduce((sum, worker) => {
    const former = before.stats.workers.find((other) => other.worker === worker.worker);
    return sum + since(worker.cpu_ns, former?.cpu_ns);
  }, 0);
  return {
    epoch: now.stats.epoch,
    clock_ms: now.stats.t_ns / 1e6,
    interval_ms: elapsed_ns / 1e6,
    cpu_share: cpu_ns / elapsed_ns,
    instances: probes.instances.flatMap((probe) => instanceSample(probe, before, now, cycles) ?? []),
    modules: probes.modules.flatMap((probe) => moduleSample(probe, before, now, cycles) ?? []),
    splits: probes.splits.flatMap((probe) => splitSample(probe, now) ?? []),
    schedulers: probes.schedulers.map((probe) => schedulerSample(probe, before, now, cycles)),
    exits: probes.exits.flatMap(({ exit_id, module }) => exitSample(exit_id, module, before, now) ?? []),
  };
}

function instanceSample(probe: InstanceProbe, before: Reading, now: Reading, cycles: number): InstanceSample | null {
  const core = probe.nf !== null ? nfFigures(probe.nf, before, now, cycles) : processFigures(probe, now);
  if (!core) return null;
  const queues = probe.queues.map((name) => now.modules.get(name));
  const outputs = probe.outputs === null ? undefined : now.modules.get(probe.outputs);
  const waiting = total(queues.map((queue) => queue?.drops));
  const unwanted = total([outputs?.drops]);
  const drops = addDrops(core.drops, waiting, unwanted);
  return {
    instance_id: probe.instance_id,
    ...core,
    // Offered load, not only served: packets dropped at a full queue count as in, packets that match no edge do not
    // count as out.
    packets_in: core.packets_in + sum(waiting),
    packets_out: Math.max(0, core.packets_out - sum(unwanted)),
    drops,
    queue_depth: queues.reduce((depth, queue) => depth + (queue?.queue_depth ?? 0), 0),
  };
}

type Core = Omit<InstanceSample, 'instance_id' | 'queue_depth'>;

/** Share of a core that a module used, with the bytestream in front of it. `cycles`: of one core in the interval. */
function cpuShare(name: string, before: Reading, now: Reading, cycles: number): number {
  if (cycles <= 0) return 0;
  const used = (module: string) => since(now.modules.get(module)?.cycles ?? 0, before.modules.get(module)?.cycles);
  return (used(name) + used(bytestreamOf(name))) / cycles;
}

function nfFigures(name: string, before: Reading, now: Reading, cycles: number): Core | null {
  const module = now.modules.get(name);
  if (!module) return null;
  const former = before.modules.get(name);
  const { packets_in, packets_out, bytes_in, bytes_out, drops } = module;
  return {
    packets_in,
    packets_out,
    bytes_in,
    bytes_out,
    drops,
    cpu_share: cpuShare(name, before, now, cycles),
    latency_ns: histogramSince(module.latency_ns, former?.latency_ns ?? null),
  };
}

/** A process is measured at its two interfaces; replies are included. Its CPU time is not part of the engine's. */
function processFigures({ ports }: InstanceProbe, now: Reading): Core | null {
  const near = now.ports.get(ports!.near);
  const far = now.ports.get(ports!.far);
  if (!near || !far) return null;
  const packets_in = near.tx_packets + far.tx_packets;
  const packets_out = near.rx_packets + far.rx_packets;
  return {
    packets_in,
    packets_out,
    bytes_in: near.tx_bytes + far.tx_bytes,
    bytes_out: near.rx_bytes + far.rx_bytes,
    drops: present({ 'port-full': near.tx_dropped + far.tx_dropped, 'port-missed': near.rx_dropped + far.rx_dropped }),
    cpu_share: 0,
    latency_ns: [],
  };
}

function exitSample(exit_id: string, name: string, before: Reading, now: Reading): ExitSample | null {
  const module = now.modules.get(name);
  if (!module) return null;
  const former = before.modules.get(name);
  return {
    exit_id,
    packets: module.packets_in,
    bytes: module.bytes_in,
    latency_ns: histogramSince(module.latency_ns, former?.latency_ns ?? null),
  };
}

function moduleSample(probe: ModuleProbe, before: Reading, now: Reading, cycles: number): ModuleSample | null {
  const module = now.modules.get(probe.module);
  if (!module) return null;
  const queues = probe.queues.flatMap((name) => now.modules.get(name) ?? []);
  const overflow = total(queues.map(({ drops }) => drops));
  return {
    module_id: probe.module_id,
    packets_in: module.packets_in + sum(overflow),
    packets_out: module.packets_out,
    drops: addDrops(module.drops, overflow),
    waiting: queues.reduce((all, { queue_depth }) => all + (queue_depth ?? 0), module.queue_depth ?? 0),
    cpu_share: cpuShare(probe.module, before, now, cycles),
  };
}

function splitSample({ module, targets, ...of }: SplitProbe, now: Reading): SplitSample | null {
  const split = now.modules.get(module)?.split;
  if (!split) return null;
  const { tracks_flows, untracked, displaced, gates } = split;
  return {
    ...of,
    tracks_flows,
    untracked,
    displaced,
    targets: gates.flatMap(({ gate, ...figures }) => {
      const to = targets[gate];
      return to ? [{ to, ...figures }] : [];
    }),
  };
}

function schedulerSample(probe: SchedulerProbe, before: Reading, now: Reading, cycles: number): SchedulerSample {
  const seconds = (now.stats.t_ns - before.stats.t_ns) / 1e9;
  const nodes = probe.nodes.flatMap(({ id, node }): SchedulerSample['nodes'] => {
    const key = scheduledKey(probe.worker, node);
    const used = now.scheduled.get(key);
    if (!used) return [];
    const former = before.scheduled.get(key);
    const spent = since(used.cycles, former?.cycles);
    return [
      {
        id,
        cpu_share: spent / cycles,
        pps: since(used.packets, former?.packets) / seconds,
        bps: (8 * since(used.bytes, former?.bytes)) / seconds,
        polling_share: since(used.empty_cycles, former?.empty_cycles) / cycles,
      },
    ];
  });
  return { core: probe.core, nodes };
}

type Drops = Record<string, number>;
const present = (drops: Drops): Drops => Object.fromEntries(Object.entries(drops).filter(([, count]) => count > 0));
const sum = (drops: Drops) => Object.values(drops).reduce((all, count) => all + count, 0);
const total = (parts: (Drops | undefined)[]): Drops => addDrops(...parts.map((part) => part ?? {}));

function addDrops(...parts: Drops[]): Drops {
  const all = new Map<string, number>();
  for (const part of parts)
    for (const [reason, count] of Object.entries(part)) all.set(reason, (all.get(reason) ?? 0) + count);
  return Object.fromEntries(all);
}
