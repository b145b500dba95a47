import type {
  InstanceSample,
  LinkSample,
  ModuleSample,
  NodeSamples,
  ObservedApplications,
  Origin,
  Sample,
  Series,
  SloStatus,
  SparseHistogram,
  SwitchSamples,
} from '@orrery/contract';

export const TELEMETRY_SINK = Symbol('TelemetrySink');
export const TELEMETRY = Symbol('Telemetry');
export const SLO_BOARD = Symbol('SloBoard');

/** Where measurements come in. */
export interface TelemetrySink {
  takeNode(node: string, origin: Origin, samples: NodeSamples): void;
  takeSwitch(id: string, origin: Origin, samples: SwitchSamples): void;
  takeLinks(links: readonly LinkSample[]): void;
  /** `supervisor`: the node whose agent reports, or the twin. */
  takeApplications(supervisor: string, origin: Origin, observed: ObservedApplications): void;
}

/** Packets that left a chain in the forward direction over the last seconds. */
export interface ExitWindow {
  readonly packets: number;
  readonly bytes: number;
  readonly latency_ns: SparseHistogram;
  /** How much of the window was measured. */
  readonly covered_s: number;
  /** For how long what runs now has carried packets: since the first one after the chain or its places changed. */
  readonly steady_s: number;
  readonly origin: Origin;
}

export interface Telemetry {
  /** The latest counters of the running instances, also of a server that is silent now; `ofServer`: only of these servers. */
  counters(ofServer?: (id: string) => boolean): InstanceSample[];
  /** The same of mirrors, merges and queues. */
  moduleCounters(): ModuleSample[];
  /** The latest counters of a switch's entries; null: none since the server started. */
  switchCounters(id: string): SwitchSamples | null;
  /** Points from the time `sinceMs` on. */
  series(keys: readonly string[], sinceMs: number): Series[];
  /** The latest value, if it arrived within this time by the monotonic clock; null: it did not. */
  newest(key: string, withinMs: number): number | null;
  /** The mean of the latest value and of those up to `overMs` before it, if the latest arrived within `withinMs`; null: it did not. */
  mean(key: string, overMs: number, withinMs: number): number | null;
  window(chainId: string, seconds: number): ExitWindow | null;
  onSamples(listener: (samples: readonly Sample[], links: readonly LinkSample[]) => void): void;
  /** Called when packets leave a chain, with the time by this clock at which that was known. */
  onPackets(listener: (chainId: string, tMs: number) => void): void;
}

export interface SloBoard {
  all(): readonly SloStatus[];
  onChange(listener: (statuses: readonly SloStatus[]) => void): void;
}
