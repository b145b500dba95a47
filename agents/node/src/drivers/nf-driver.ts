import type { EngineGraph, InstanceSpec, SlotRef } from '@orrery/contract';

export type InstanceRuntimeState = 'starting' | 'running' | 'failed' | 'stopping';

/** Interfaces by which the engine reaches an instance that it does not run itself. */
export interface EngineEnds {
  near: string;
  far: string;
}

/** What a driver runs for one instance, and from which desired state (`digest`) it was made. */
export interface RuntimeInstance {
  digest: string;
  state: InstanceRuntimeState;
  detail: string | null;
  /** Why it failed lies in what is desired: only another desired state helps. */
  permanent?: boolean;
}

/** What runs beside the engine, behind two interfaces. */
export interface HostedView extends RuntimeInstance {
  /** Null while packets cannot go there: not started or loaded yet, or an interface is missing. */
  ends: EngineEnds | null;
}

/** What a board driver runs for one instance. */
export interface BoardInstance extends HostedView {
  place: SlotRef;
}

/** One batch of the unified VNFM calls (HYPER). `wiring` is the whole data plane, for the driver that owns it. */
export interface Change {
  deploy: InstanceSpec[];
  configure: InstanceSpec[];
  destruct: string[];
  /** Slots of boards to empty of what no instance is known of. */
  vacate?: readonly SlotRef[];
  wiring: Wiring | null;
}

/** Where the figures of an instance are read. */
export interface InstanceProbe {
  instance_id: string;
  /** NF module of the engine; null behind ports, whose figures are those of its ports. */
  nf: string | null;
  queues: string[];
  /** Classifier behind the NF, whose drops are packets that no edge wants. */
  outputs: string | null;
  ports: { near: string; far: string } | null;
}

export interface Probes {
  instances: InstanceProbe[];
  exits: { exit_id: string; module: string }[];
}

export interface Wiring {
  graph: EngineGraph;
  probes: Probes;
  /** Digest of each instance that the graph holds. */
  instances: ReadonlyMap<string, string>;
  digest: string;
}

/** Why a change could not be made. Until something else changes, a `permanent` one fails again. */
export class DriverError extends Error {
  override name = 'DriverError';
  constructor(
    message: string,
    readonly instanceId: string | null = null,
    readonly permanent = false,
  ) {
    super(message);
  }
}

export const unknownNf = (kind: InstanceSpec['driver'], nf: string, there: readonly string[]): DriverError =>
  new DriverError(`no ${kind} NF ${nf} here; there are ${there.join(', ')}`, null, true);

/** The unified VNFM interface: the same calls whatever runs the NF. One implementation for each kind of runtime. */
export interface NfDriver {
  readonly kind: InstanceSpec['driver'];
  readonly nfs: readonly string[];
  /** What runs now. */
  observe(): ReadonlyMap<string, RuntimeInstance>;
  /** deploy_instance, configure_instance and destruct_instance; making the same change again is harmless. */
  realize(change: Change): Promise<void>;
  /** get_instance_state; `limit` bounds each table. */
  getInstanceState(instanceId: string, limit: number): Promise<Record<string, unknown>>;
  /** The two halves of migrate_instance: flow state leaves one instance and enters another. */
  exportState(instanceId: string): Promise<Record<string, unknown>>;
  importState(instanceId: string, state: Record<string, unknown>): Promise<void>;
}

/** Runs instances beside the engine. `realize` waits for none: its `observe` tells how far they are. */
export interface HostedDriver extends NfDriver {
  observe(): ReadonlyMap<string, HostedView>;
  /** What an instance is made from; it stays as it is when only its wiring changed. */
  digest(instance: InstanceSpec): string;
}
