import { type FlowKey, type FlowRange, KeepFlows, type NfSplit, type PlannedChain } from '@orrery/contract';
import { equalRanges } from './flow-range.js';

/** What is asked for the flows of an NF; undefined: nothing. */
export function askedSplit({ splits = [] }: Pick<PlannedChain, 'splits'>, nodeId: string): NfSplit | undefined {
  return splits.find(({ node_id }) => node_id === nodeId);
}

/** The ranges of an NF's instances, by ordinal. */
export function rangesOf(asked: NfSplit | undefined, instances: number): readonly FlowRange[] {
  return asked?.ranges?.length === instances ? asked.ranges : equalRanges(instances);
}

/**
 * How many flows in progress engines keep at their instances, and for how long; null: they follow the ranges. Where
 * nothing is asked, those of an NF with affinity are kept.
 */
export function keptByEngines(asked: NfSplit | undefined, affinity: FlowKey): KeepFlows | null {
  if (asked?.keep_flows !== undefined) return asked.keep_flows;
  return affinity.length > 0 ? KeepFlows.parse({}) : null;
}

/** The same of switches, which spend a table entry on each: only where it is asked, and of no split in steps. */
export function keptBySwitches(asked: NfSplit | undefined): KeepFlows | null {
  return asked?.staged ? null : (asked?.keep_flows ?? null);
}

/** The same of engines in front of instances that are split in steps, which keep flows in any case, as long as switches do. */
export function keptInFront(asked: NfSplit | undefined): KeepFlows {
  const kept = KeepFlows.parse(asked?.keep_flows ?? {});
  return { ...kept, idle_timeout_s: asked?.staged?.idle_timeout_s ?? kept.idle_timeout_s };
}

/** How many instances the NF is to have, whatever its load needs; null: as many as that needs. */
export function askedInstances(chain: Pick<PlannedChain, 'splits'>, nodeId: string): number | null {
  return askedSplit(chain, nodeId)?.instances ?? null;
}
