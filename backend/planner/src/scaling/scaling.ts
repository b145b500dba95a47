import type { FlowRange, ScalingPolicyRequest } from '@orrery/contract';
import { rangeMoves, scaledRanges } from '../igraph/scaled-ranges.js';

/** What is measured of an instance; null: not recently. */
export interface InstanceLoad {
  readonly id: string;
  readonly ordinal: number;
  /** Of its core, all that runs there together, or of what it may use of it, whichever is more. */
  readonly utilization: number | null;
  /** Its own share of that core. */
  readonly share: number | null;
  /** Most of the core that it may use. */
  readonly limit: number;
  /** Packets that wait in front of it. */
  readonly queue: number | null;
  /** 99th percentile in it. */
  readonly delay_us: number | null;
}

export interface NfLoad {
  /** By ordinal. */
  readonly instances: readonly InstanceLoad[];
  /** Of their flows, by ordinal; empty: one instance takes all. */
  readonly ranges: readonly FlowRange[];
  /** Deepest queue in front of a later NF of the chain, with its name; null: there is none. */
  readonly behind: { readonly node_id: string; readonly queue: number } | null;
  /** What disturbs the chain and no number of instances can mend, such as a link that is down; null: nothing. */
  readonly hindrance: string | null;
}

type ScalingRules = Pick<ScalingPolicyRequest, 'out' | 'in' | 'min_instances' | 'max_instances' | 'cooldown_s'>;

/** What is remembered of an NF between two looks; times by a monotonic clock. */
export interface ScalingMemory {
  readonly side: 'over' | 'under' | 'between';
  readonly sinceMs: number;
  /** When the last change was decided or ended. */
  readonly changedMs: number;
}

export type ScalingDecision =
  | { readonly kind: 'none'; readonly why: string }
  | {
      readonly kind: 'out' | 'in';
      /** Out: the instance that is split. In: the one that goes, which has the highest ordinal. */
      readonly instance: InstanceLoad;
      readonly instances: number;
      readonly why: string;
    }
  /** A change is due that the limits of the policy do not allow. */
  | { readonly kind: 'at-limit'; readonly why: string };

export const NO_SCALING_MEMORY: ScalingMemory = {
  side: 'between',
  sinceMs: 0,
  changedMs: Number.NEGATIVE_INFINITY,
};

/** Of the limit above which an NF grows, the most that those that stay may use after it has shrunk, or noise would split it again. */
const SPARE = 0.9;

/**
 * Whether an NF needs another number of instances (E2 3.4.3). Overloaded: an instance is beyond a limit; idle: all are below all
 * limits, or have a queue as long as its limit. Either must last, and the NF must not have changed within the cool-down. A queue or
 * a delay does not count where a queue in front of a later NF is beyond the limit and as long as any of its own: that NF is then the
 * slowest. Nothing is decided without a finite measurement of every instance, or
 * while something disturbs the chain that scaling cannot mend. An NF does not shrink where one of those that stay would be near
 * its limit. A number outside the limits of the policy changes whatever the load is.
 */
export function decideScaling(
  rules: ScalingRules,
  load: NfLoad,
  memory: ScalingMemory,
  nowMs: number,
): { readonly decision: ScalingDecision; readonly memory: ScalingMemory } {
  const { side, why, worst } = sideOf(rules, load);
  const sinceMs = side === memory.side ? memory.sinceMs : nowMs;
  const next = { ...memory, side, sinceMs };
  const nothing = (because: string) => ({ decision: { kind: 'none', why: because } as const, memory: next });
  const cools = nowMs - memory.changedMs < rules.cooldown_s * 1000;
  const changed = { ...next, side: 'between' as const, changedMs: nowMs };
  const bound = whyNotJudged(load) === null ? towardsLimits(rules, load) : null;
  if (bound !== null)
    return cools ? nothing(`${bound.why}, ${coolsText(rules)}`) : { decision: bound, memory: changed };
  if (side === 'between') return nothing(why);
  const hold = side === 'over' ? rules.out.for_s : rules.in.for_s;
  if (nowMs - sinceMs < hold * 1000) return nothing(`${why}, but not for ${hold} s`);
  if (cools) return nothing(`${why}, ${coolsText(rules)}`);
  const count = load.instances.length;
  const lasting = `${why} for ${hold} s`;
  if (side === 'over') {
    if (count >= rules.max_instances)
      return {
        decision: {
          kind: 'at-limit',
          why: `${lasting}, but it has ${count} of at most ${instancesText(rules.max_instances)}`,
        },
        memory: next,
      };
    return { decision: { kind: 'out', instance: worst!, instances: count + 1, why: lasting }, memory: changed };
  }
  if (count <= rules.min_instances) return nothing(`${why}, but it has the fewest instances that its policy allows`);
  if (load.ranges.length !== count) return nothing(`${why}, but how they share out its flows is not known`);
  const most = SPARE * rules.out.utilization;
  const heaviest = afterShrinking(load).find(({ utilization }) => utilization > most);
  if (heaviest)
    return nothing(
      `${why}, but with ${instancesText(count - 1)} ${heaviest.id} would use ${percent(heaviest.utilization)} of its core, above ${percent(most)}`,
    );
  return { decision: { kind: 'in', instance: lastOf(load), instances: count - 1, why: lasting }, memory: changed };
}

/** The change that a number of instances outside the limits of the policy needs; null: it is within them. */
function towardsLimits({ min_instances: min, max_instances: max }: ScalingRules, load: NfLoad) {
  const count = load.instances.length;
  if (count === 0) return null;
  if (count < min) {
    const instance = load.instances.reduce((a, b) => (isHeavier(b, a) ? b : a));
    return {
      kind: 'out',
      instance,
      instances: count + 1,
      why: `it has ${count} of at least ${instancesText(min)}`,
    } as const;
  }
  if (count <= max) return null;
  const why = `it has ${count} of at most ${instancesText(max)}`;
  return { kind: 'in', instance: lastOf(load), instances: count - 1, why } as const;
}

function lastOf({ instances }: NfLoad): InstanceLoad {
  return instances.reduce((a, b) => (a.ordinal > b.ordinal ? a : b));
}

function coolsText({ cooldown_s }: ScalingRules): string {
  return `but it changed less than ${cooldown_s} s ago`;
}

/** Why the load of an NF says nothing; null: it does. */
export function whyNotJudged({ instances, hindrance }: NfLoad): string | null {
  if (hindrance !== null) return hindrance;
  const silent = instances.find(
    (it) => ![it.utilization, it.share, it.queue].every((figure) => Number.isFinite(figure)),
  );
  return silent ? `the load of ${silent.id} was not measured` : null;
}

/**
 * What the instances that stay would use of their cores without the last one, whose load goes with the parts of its range
 * to whom they fall. Precondition: every instance has a range.
 */
function afterShrinking({ instances, ranges }: NfLoad): { readonly id: string; readonly utilization: number }[] {
  const last = instances.length - 1;
  const { lo, hi } = ranges[last]!;
  const moves = rangeMoves(ranges, scaledRanges(ranges, last)).filter(({ from }) => from === last);
  return instances.slice(0, last).map(({ id, ordinal, utilization, share, limit }) => {
    const taken = moves.reduce((sum, move) => (move.to === ordinal ? sum + move.hi - move.lo : sum), 0);
    const more = (taken / (hi - lo)) * instances[last]!.share!;
    // Of the core, where others use more of it than the instance of its limit; otherwise of that limit.
    return { id, utilization: Math.max(utilization! + more, (share! + more) / limit) };
  });
}

interface Side {
  readonly side: ScalingMemory['side'];
  readonly why: string;
  /** The most loaded instance, where one is overloaded. */
  readonly worst: InstanceLoad | null;
}

function sideOf(rules: ScalingRules, load: NfLoad): Side {
  const { instances, behind } = load;
  const between = (why: string): Side => ({ side: 'between', why, worst: null });
  const unjudged = whyNotJudged(load);
  if (unjudged !== null) return between(`not judged: ${unjudged}`);
  if (instances.length === 0) return between('it does not run');
  const deepest = Math.max(...instances.map(({ queue }) => queue!));
  const slower = behind && behind.queue > rules.out.queue && behind.queue >= deepest ? behind : null;
  const over = instances.flatMap((it) => {
    const what = beyond(it, rules, slower !== null);
    return what === null ? [] : [{ it, what }];
  });
  if (over.length > 0) {
    const { it, what } = over.reduce((a, b) => (isHeavier(b.it, a.it) ? b : a));
    return { side: 'over', why: `${it.id}: ${what}`, worst: it };
  }
  if (slower && deepest > rules.out.queue)
    return between(`${Math.round(slower.queue)} packets wait in front of ${slower.node_id} behind it, which is slower`);
  if (instances.every((it) => isBelow(it, rules)))
    return { side: 'under', why: 'all instances are below the limits for fewer', worst: null };
  return between('within its limits');
}

/** Which limit the instance is beyond, in words; null: none. */
function beyond(
  { utilization, queue, delay_us }: InstanceLoad,
  { out }: ScalingRules,
  slowerBehind: boolean,
): string | null {
  if (utilization! > out.utilization)
    return `its core is used to ${percent(utilization!)}, above ${percent(out.utilization)}`;
  if (slowerBehind) return null;
  if (queue! > out.queue) return `${Math.round(queue!)} packets wait in front of it, more than ${out.queue}`;
  if (out.delay_us !== null && delay_us !== null && delay_us > out.delay_us)
    return `99 % of its packets take up to ${Math.round(delay_us)} µs, more than ${out.delay_us} µs`;
  return null;
}

function isBelow(
  { utilization, queue, delay_us }: InstanceLoad,
  { in: { utilization: most, queue: longest, delay_us: slowest } }: ScalingRules,
): boolean {
  const quick = slowest === null || delay_us === null || delay_us < slowest;
  return utilization! < most && queue! <= longest && quick;
}

function isHeavier(a: InstanceLoad, b: InstanceLoad): boolean {
  if (a.utilization !== b.utilization) return a.utilization! > b.utilization!;
  if (a.queue !== b.queue) return a.queue! > b.queue!;
  return (a.delay_us ?? 0) > (b.delay_us ?? 0);
}

function instancesText(count: number): string {
  return `${count} instance${count === 1 ? '' : 's'}`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
