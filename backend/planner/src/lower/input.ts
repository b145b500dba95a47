import type {
  FabricRule,
  Infrastructure,
  InstanceGraph,
  InstanceSpec,
  ModuleSpec,
  NfDescriptor,
  NodeSpec,
  Plan,
  PlannedChain,
} from '@orrery/contract';
import type { Recall } from '../recall.js';
import type { PlannedSchedule } from '../schedule/task-queues.js';
import type { MetadataLayout } from './metadata.js';

/** A placed instance graph with its hops, and the other identifiers that packets carry between servers. */
export interface LoweringInput {
  readonly chains: readonly PlannedChain[];
  readonly descriptors: readonly NfDescriptor[];
  readonly infrastructure: Infrastructure;
  readonly graph: InstanceGraph;
  /** By chain name. */
  readonly layouts: ReadonlyMap<string, MetadataLayout>;
  /** External addresses by instance. */
  readonly addresses: ReadonlyMap<string, readonly string[]>;
  /** Of the chains with a planned schedule. */
  readonly schedules: readonly PlannedSchedule[];
  /** Of the chains that fail closed. */
  readonly guards: readonly FabricRule[];
  /** Of the classes whose first NFs switches run. */
  readonly switchNfs: SwitchNfs;
  readonly base: Plan | null;
  readonly recall: Recall;
}

/** By edge of the policy graph from the ingress: the NFs that packets pass at the switch where they enter. */
export type SwitchNfs = ReadonlyMap<string, NonNullable<Extract<FabricRule, { kind: 'classify' }>['nfs']>>;

/** What a chain is lowered from. */
export interface ChainToLower {
  readonly chain: PlannedChain;
  readonly descriptors: readonly NfDescriptor[];
  /** Its part of the graph. */
  readonly graph: InstanceGraph;
  /** What its packets carry. */
  readonly layout: MetadataLayout;
  /** External addresses by instance. */
  readonly addresses: ReadonlyMap<string, readonly string[]>;
  readonly switchNfs: SwitchNfs;
}

/** What a chain is on one server. */
export interface ChainOnServer {
  readonly instances: InstanceSpec[];
  readonly modules: ModuleSpec[];
  /** Of all nodes but queues. */
  readonly hops: NodeSpec['hops'];
  readonly queueHops: NodeSpec['hops'];
  readonly exits: NodeSpec['exits'];
}

/** What servers and switches run of one chain. */
export interface LoweredChain {
  readonly servers: ReadonlyMap<string, ChainOnServer>;
  readonly rules: Readonly<Record<'classify' | 'hop' | 'mirror' | 'return', readonly FabricRule[]>>;
}
