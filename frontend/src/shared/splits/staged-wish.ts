import { type FlowRange, KeepFlows, type NfSplit, type StagedSplit } from '@orrery/contract';

/**
 * What is asked of a split, in the step in which it is, unless flows may lose their state: the same step with the idle time that
 * is asked. Once the switches have taken over, other ranges begin with the first step, which leaves the ranges `now` as they are.
 */
export function inStep(asked: NfSplit, staged: StagedSplit | undefined, now: readonly FlowRange[]): NfSplit {
  if (!staged || asked.keep_flows === null) return asked;
  const { idle_timeout_s } = asked.keep_flows ?? staged;
  const next = { ...staged, idle_timeout_s };
  if (staged.held || !asked.ranges || sameRanges(asked.ranges, now)) return { ...asked, staged: next };
  return { ...asked, ranges: [...now], staged: { ...next, held: [...now] } };
}

/** The limits of the flows that stay. Switches that have taken over a split in steps keep no others, as the plan says. */
export function keptInSteps(
  kept: KeepFlows | null,
  planned: { readonly keep_flows?: NfSplit['keep_flows']; readonly staged?: StagedSplit | undefined } | undefined,
): KeepFlows | null {
  if (kept || !planned?.staged || planned.keep_flows === null) return kept;
  return KeepFlows.parse({ ...planned.keep_flows, idle_timeout_s: planned.staged.idle_timeout_s });
}

function sameRanges(some: readonly FlowRange[], others: readonly FlowRange[]): boolean {
  return some.length === others.length && some.every(({ lo, hi }, i) => lo === others[i]!.lo && hi === others[i]!.hi);
}
