import type {
  EngineGraph,
  EngineRequest,
  FlowExport,
  FlowImport,
  FlowRelease,
  InstanceLog,
  InstanceSpec,
  LogRequest,
  ShellSize,
  SlotRef,
  Target,
} from '@orrery/contract';
import type { Switched } from './acceleration.js';
import type { ShellTerminal } from './shell-terminal.js';

export type InstanceRuntimeState = 'starting' | 'running' | 'failed' | 'stopping';

/** Interfaces by which the engine reaches an instance that it does not run itself. */
export interface EngineEnds {
  near: string;
  far: string;
}

/** Tag between the engine and an NF behind ports; it never leaves the server, so all pairs of ports can share it. */
export const PORTS_HOP = 0xfffe;

/** What a driver runs for one instance, and the desired state that it was made from (`digest`). */
export interface RuntimeInstance {
  digest: string;
  state: InstanceRuntimeState;
  detail: string | null;
  /** The cause of the failure is the desired state: only a different one helps. */
  permanent?: boolean;
}

/** An instance outside the engine, behind two interfaces. */
export interface HostedView extends RuntimeInstance {
  /** Null while it cannot receive packets: not started or loaded yet, or an interface is missing. */
  ends: EngineEnds | null;
}

/** What a board driver runs for one instance. */
export interface BoardInstance extends HostedView {
  place: SlotRef;
  /** A switch leads packets to it, and no engine. */
  atSwitch: boolean;
}

/** One batch of the unified VNFM calls (HYPER). `wiring` is the whole data plane, for the driver that runs it. */
export interface Change {
  deploy: InstanceSpec[];
  configure: InstanceSpec[];
  destruct: string[];
  /** Slots of boards to empty because they hold no known instance. */
  vacate?: readonly SlotRef[];
  wiring: Wiring | null;
}

/** Where the figures of an instance are read. */
export interface InstanceProbe {
  instance_id: string;
  /** NF module of the engine; null for an instance behind ports, which is measured at its ports. */
  nf: string | null;
  queues: string[];
  /** Classifier behind the NF; its drops are packets that match no edge. */
  outputs: string | null;
  ports: { near: string; far: string } | null;
}

/** Where the figures of a mirror, merge or queue are read. */
export interface ModuleProbe {
  module_id: string;
  module: string;
  /** Before its inputs. */
  queues: string[];
}

/** Where the figures of an output whose flows are split are read: `targets` by gate. */
export interface SplitProbe {
  from_id: string;
  edge_id: string;
  module: string;
  targets: Target[];
}

/** Where the figures of a core's scheduler tree are read: `node` is the name in the tree of the worker. */
export interface SchedulerProbe {
  core: number;
  worker: number;
  nodes: { id: string; node: string }[];
}

export interface Probes {
  instances: InstanceProbe[];
  modules: ModuleProbe[];
  splits: SplitProbe[];
  schedulers: SchedulerProbe[];
  exits: { exit_id: string; module: string }[];
}

export interface Wiring {
  graph: EngineGraph;
  probes: Probes;
  /** Digest of each instance in the graph. */
  instances: ReadonlyMap<string, string>;
  digest: string;
}

/** Why a change failed. A `permanent` failure recurs until something else changes. */
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

/** A difference between what was applied and what is there, made by somebody else. */
export interface Drift {
  /** What differs: the interface, engine or instance. */
  part: string;
  difference: string;
  /** Why it is not repaired; null: it is. */
  blocked: string | null;
}

/** The unified VNFM interface: the same calls for every runtime. One implementation per kind of runtime. */
export interface NfDriver {
  readonly kind: InstanceSpec['driver'];
  readonly nfs: readonly string[];
  /** deploy_instance, configure_instance and destruct_instance; making the same change again is harmless. */
  realize(change: Change): Promise<void>;
  /** get_instance_state; `limit` bounds the rows of each table. */
  getInstanceState(instanceId: string, limit: number): Promise<Record<string, unknown>>;
  /** What the program of an instance wrote; absent: its instances write nothing of their own. */
  readLog?(instanceId: string, wanted: LogRequest): Promise<InstanceLog>;
  /** A shell where the program of an instance runs; absent: its instances are not in containers. */
  openShell?(instanceId: string, size: ShellSize): Promise<ShellTerminal>;
  /** Its element manager, for instances with `acceleration`; absent: its instances cannot be switched. */
  readonly elements?: ElementDriver;
  /** The two halves of migrate_instance: export flow state from one instance and import it into another. */
  exportState(instanceId: string): Promise<Record<string, unknown>>;
  /** `renew`: a flow that is known takes what came in if that was used later. Null: the instance does not count what it left out. */
  importState(instanceId: string, state: Record<string, unknown>, renew?: boolean): Promise<FlowImport | null>;
  /** The same for a part of the flows, portion by portion; absent: state moves as a whole. */
  readonly flows?: FlowDriver;
}

/** Switches NFs to an accelerator and back while their sessions stay up; what starts anew does what its specification says. */
export interface ElementDriver {
  /** Null: as its specification says. */
  switched(instanceId: string): Switched | null;
  switchTo(instance: InstanceSpec, accelerated: boolean): Promise<void>;
}

/** Moves flows by themselves. */
export interface FlowDriver {
  export(instanceId: string, wanted: FlowExportRequest): Promise<FlowExport>;
  release(instanceId: string, wanted: FlowReleaseRequest): Promise<FlowRelease>;
}

type Request<M extends EngineRequest['method']> = Omit<Extract<EngineRequest, { method: M }>['params'], 'module'>;
export type FlowExportRequest = Request<'export_flows'>;
export type FlowReleaseRequest = Request<'release_flows'>;

/** An interface that the agent made for an instance. */
export interface InstanceInterface {
  name: string;
  instance_id: string;
  /** Its instance runs, so the interface should be there. */
  isRunning: boolean;
}

/** Instances outside the engine, and the interfaces that were made for them. */
export interface InstanceHost {
  observe(): ReadonlyMap<string, HostedView>;
  readonly interfaces: readonly InstanceInterface[];
  /** Sets both ends of the interfaces of an instance up; rejects if one is missing. */
  relink(instanceId: string): Promise<void>;
  /** Restarts an instance with new interfaces, because one is gone. */
  recreate(instanceId: string, why: string): void;
}

/** Runs instances outside the engine. `realize` does not wait for them: `instances` reports their progress. */
export interface HostedDriver extends NfDriver {
  readonly instances: InstanceHost;
  /** What an instance is made from; unchanged if only its wiring changes. */
  digest(instance: InstanceSpec): string;
}

/** What is measured of an instance beside the engine. */
export interface HostedFigure {
  /** By reason; they never fall. */
  drops: Record<string, number>;
  /** Of one core; null: not known. */
  cpu_share: number | null;
}
