import type { Infrastructure, NfDescriptor, Plan, PlannedPipeline } from '@orrery/contract';
import type { Bin } from '../placement/problem.js';

/** A placed plan as the models of its performance see it. */
export interface PlacedInput {
  readonly pipelines: readonly PlannedPipeline[];
  readonly descriptors: readonly NfDescriptor[];
  readonly infrastructure: Infrastructure;
  readonly bins: readonly Bin[];
  readonly pgraph: Plan['pgraph'];
  readonly instances: Plan['instances'];
  readonly edges: Plan['edges'];
  /** Instances through which replies come back. */
  readonly returning: ReadonlySet<string>;
}

export function coreKey({ server, core }: Pick<Plan['instances'][number], 'server' | 'core'>): string {
  return `${server}/${core}`;
}

/** Part of each core that the estimates ask for. */
export function coreUse(instances: Plan['instances']): Map<string, number> {
  const use = new Map<string, number>();
  for (const instance of instances) use.set(coreKey(instance), (use.get(coreKey(instance)) ?? 0) + instance.core_share);
  return use;
}
