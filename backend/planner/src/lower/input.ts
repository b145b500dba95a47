import type { Infrastructure, InstanceGraph, NfDescriptor, Plan, PlannedChain } from '@orrery/contract';
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
  readonly base: Plan | null;
}
