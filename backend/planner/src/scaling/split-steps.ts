import {
  FLOW_SPACE,
  type FlowRange,
  KeepFlows,
  type NfSplit,
  type PlannedChain,
  type Scaling,
  type ScalingStep,
  type StagedSplit,
} from '@orrery/contract';
import { drainedRanges } from '../igraph/scaled-ranges.js';

type Change = Pick<Scaling, 'from' | 'to' | 'before' | 'after'>;

const WHOLE: readonly FlowRange[] = [{ lo: 0, hi: FLOW_SPACE }];

/** Why an NF cannot be split in steps, as a sentence; null: it can. */
export function whyNotInSteps(
  { definition: { nodes, edges } }: Pick<PlannedChain, 'definition'>,
  nodeId: string,
  execution: PlannedChain['execution'],
): string | null {
  const ingress = nodes.find(({ kind }) => kind === 'ingress')?.id;
  const into = edges.filter(({ to }) => to === nodeId);
  if (into.length !== 1 || into[0]!.from !== ingress)
    return `${nodeId} is split in steps only where all its flows come by one edge from the ingress`;
  return execution === 'parallel' ? `${nodeId} is split in steps only where the chain runs in sequence` : null;
}

/** The numbers and ranges that a step leaves. */
export function numbersOf(
  { from, to, before, after }: Change,
  step: ScalingStep,
): Pick<NfSplit, 'instances' | 'ranges'> {
  const of = (instances: number, ranges: Scaling['before']) => ({ instances, ...(instances > 1 ? { ranges } : {}) });
  if (step === 'resize') return of(to, after);
  return of(from, step === 'drain' ? drainedRanges(before, to) : before);
}

/**
 * How a split in steps is by then (E2 3.4.4); undefined: it is not split in steps. Engines track its flows from `stage` on, while the
 * switches go on with the ranges that they have. Where an instance goes to which these send flows, they get the ranges of those that
 * stay at once, and the flows that stay elsewhere: `exceptions`.
 */
export function stagedBy(
  { from, to, before }: Change,
  step: ScalingStep,
  asked: Pick<NfSplit, 'staged' | 'keep_flows'> | undefined,
  exceptions: StagedSplit['exceptions'],
): StagedSplit | undefined {
  const { staged } = asked ?? {};
  if (step === 'stage') {
    const { idle_timeout_s } = staged ?? KeepFlows.parse(asked?.keep_flows ?? {});
    const held = staged?.held ?? (before.length > 0 ? before : WHOLE);
    return { held: [...held], exceptions: staged?.exceptions ?? [], idle_timeout_s };
  }
  if (step !== 'resize' || to > from || !leavesSwitches(staged, to)) return staged;
  const { held: _held, ...rest } = staged!;
  return { ...rest, exceptions: exceptions.filter(({ ordinal }) => ordinal < to) };
}

/** Whether switches send flows to an instance that is not among so many. */
export function leavesSwitches(staged: StagedSplit | undefined, to: number): boolean {
  return staged?.held !== undefined && staged.held.length > to;
}

/** Why the instances of a split in steps cannot change so while their flows stay; null: they can. */
export function flawOfSteps(change: Change, staged: StagedSplit | undefined): string | null {
  const { from, to, after } = change;
  const before = change.before.length > 0 ? change.before : WHOLE;
  const held = staged?.held ?? before;
  if (held.length === 1) return null;
  if (from - to > 1)
    return `is more than one fewer, and instances to which switches send flows leave one at a time: ask for ${from - 1} first`;
  const then = to < from ? drainedRanges(before, to) : after;
  // A split leads to those whose ranges lie in the one that it holds, and knows flows of theirs.
  const isCut = held.some((own) =>
    before.some((range, i) => overlap(range, own) && then[i] !== undefined && !overlap(then[i], own)),
  );
  return isCut
    ? 'would cut an engine off from an instance whose flows it knows: the switches have to take over the split first'
    : null;
}

function overlap(one: FlowRange, other: FlowRange): boolean {
  return one.lo < other.hi && other.lo < one.hi;
}
