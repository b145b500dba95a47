import type {
  InstanceSample,
  LinkSample,
  NodeSamples,
  Origin,
  Sample,
  Series,
  SloStatus,
  SparseHistogram,
} from '@orrery/contract';

export const TELEMETRY_SINK = Symbol('TelemetrySink');
export const TELEMETRY = Symbol('Telemetry');
export const SLO_BOARD = Symbol('SloBoard');

/** Where measurements come in. */
export interface TelemetrySink {
  takeNode(node: string, origin: Origin, samples: NodeSamples): void;
  takeLinks(links: readonly LinkSample[]): void;
}

/** What left a pipeline forward over the last seconds. */
export interface ExitWindow {
  readonly packets: number;
  readonly bytes: number;
  readonly latency_ns: SparseHistogram;
  /** How much of the window was measured. */
  readonly covered_s: number;
  readonly origin: Origin;
}

export interface Telemetry {
  /** The newest counters of the instances that run. */
  counters(): InstanceSample[];
  series(keys: readonly string[], sinceMs: number): Series[];
  window(pipelineId: string, seconds: number): ExitWindow | null;
  onSamples(listener: (samples: readonly Sample[], links: readonly LinkSample[]) => void): void;
  /** Called when packets were seen to leave a pipeline, with the time on this clock when that was known. */
  onPackets(listener: (pipelineId: string, tMs: number) => void): void;
}

export interface SloBoard {
  all(): readonly SloStatus[];
  onChange(listener: (statuses: readonly SloStatus[]) => void): void;
}
