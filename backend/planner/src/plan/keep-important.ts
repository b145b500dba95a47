import { type Constraint, type NotKept, type Plan, type PlannedChain, USUAL_PRIORITY } from '@orrery/contract';
import { inTime } from '../budget.js';
import type { OfferedInput } from './offered.js';
import { planRefusal } from './refusal.js';

type MakePlan = (input: OfferedInput) => Plan;

/** The plan of some of the chains, and why the others are left out. */
interface Kept {
  readonly plan: Plan;
  readonly chains: readonly PlannedChain[];
  readonly left: readonly NotKept[];
}

export function priorityOf({ definition }: Pick<PlannedChain, 'definition'>): number {
  return definition.priority ?? USUAL_PRIORITY;
}

/**
 * The plan of the most important chains: one is left out only where it has no place beside all of higher priority that
 * are kept, or would cost one of these an objective. Of chains of equal priority those that run come first. A chain that fails
 * closed and is left out still has its packets dropped. An objective that is missed as things are costs nobody a place.
 * Errors: `OutOfTime` where it does not become clear in time whether a chain that runs fits.
 */
export function keepImportant(input: OfferedInput, make: MakePlan): Plan {
  const all = make(input);
  const missedNow = unmet(input.base);
  if (all.feasible && [...unmet(all)].every((slo) => missedNow.has(slo))) return all;
  const { chains } = input;
  const running = new Set(input.base?.chains.map(({ chain_id }) => chain_id));
  const order = new Map(chains.map(({ chain_id }, i) => [chain_id, i]));
  const ranked = chains.toSorted(
    (a, b) =>
      priorityOf(b) - priorityOf(a) ||
      Number(running.has(b.chain_id)) - Number(running.has(a.chain_id)) ||
      order.get(a.chain_id)! - order.get(b.chain_id)!,
  );
  const planOf = (some: readonly PlannedChain[]): Plan => {
    if (some.length === chains.length) return all;
    const kept = new Set(some.map(({ chain_id }) => chain_id));
    const shut = chains.filter((it) => !kept.has(it.chain_id) && it.definition.traffic_class.fail_closed);
    const ids = new Set(shut.map(({ chain_id }) => chain_id));
    const guarded = [...(input.guarded ?? []).filter(({ chain_id }) => !ids.has(chain_id)), ...shut];
    // Problems of the plan point into the chains in their order.
    return make({ ...input, chains: chains.filter(({ chain_id }) => kept.has(chain_id)), guarded });
  };
  const mayLeaveOut = ({ chain_id }: PlannedChain) => !running.has(chain_id);
  const { plan, left } = extended({ plan: planOf([]), chains: [], left: [] }, ranked, {
    planOf,
    missedNow,
    mayLeaveOut,
  });
  // Without any chain there may be no plan either, and then nothing is left out for lack of room.
  if (!plan.feasible) return all;
  const missed = missedObjectives(input.base, plan);
  if (left.length + missed.length === 0) return plan;
  const reasons = left.map(({ chain_id, because, constraint }) => ({
    part: 'placement' as const,
    subject: chain_id,
    decision: 'left out',
    because,
    candidates: [],
    constraint,
  }));
  return { ...plan, reasons: [...reasons, ...plan.reasons], not_kept: [...left, ...missed] };
}

interface Trying {
  readonly planOf: (some: readonly PlannedChain[]) => Plan;
  /** Objectives that are missed already. */
  readonly missedNow: ReadonlySet<string>;
  /** Without having been tried. */
  readonly mayLeaveOut: (chain: PlannedChain) => boolean;
}

/** As many of the chains as fit beside those that are kept, in their order. */
function extended(kept: Kept, more: readonly PlannedChain[], trying: Trying): Kept {
  if (more.length === 0) return kept;
  const { planOf, missedNow, mayLeaveOut } = trying;
  const chains = [...kept.chains, ...more];
  const tried = more.every(mayLeaveOut) ? inTime(() => planOf(chains)) : planOf(chains);
  const why = tried === null ? OUT_OF_TIME : obstacle(tried, new Set([...missedNow, ...unmet(kept.plan)]), more);
  if (tried && why === null) return { ...kept, plan: tried, chains };
  if (more.length === 1 || tried === null) {
    const left = more.map((chain) => ({
      chain_id: chain.chain_id,
      slo_id: null,
      priority: priorityOf(chain),
      ...why!,
    }));
    return { ...kept, left: [...kept.left, ...left] };
  }
  const half = Math.ceil(more.length / 2);
  return extended(extended(kept, more.slice(0, half), trying), more.slice(half), trying);
}

type Why = Pick<NotKept, 'because' | 'constraint'>;

const OUT_OF_TIME: Why = { because: 'The planning time ran out before it was clear that it fits.', constraint: null };

const sloName = ({ chain_id, slo_id }: Plan['slos'][number]) => `${chain_id} ${slo_id}`;

/** Objectives that the plan misses. */
function unmet(plan: Plan | null): ReadonlySet<string> {
  return new Set(plan?.slos.filter(({ met }) => !met).map(sloName));
}

/** Why chains cannot be added, which may be one of several; null: they can. `missed`: objectives that are missed without them. */
function obstacle(plan: Plan, missed: ReadonlySet<string>, added: readonly PlannedChain[]): Why | null {
  if (!plan.feasible) return { because: planRefusal(plan), constraint: plan.conflicts[0] ?? null };
  const least = Math.min(...added.map(priorityOf));
  const chains = new Map(plan.chains.map((chain) => [chain.chain_id, chain]));
  const broken = plan.slos.find(
    (slo) => !slo.met && !missed.has(sloName(slo)) && priorityOf(chains.get(slo.chain_id)!) > least,
  );
  if (!broken) return null;
  const { name } = chains.get(broken.chain_id)!.definition;
  return {
    because: `With it, ${name}, which is more important, would miss its objective ${broken.slo_id}.`,
    constraint: shortOf(broken),
  };
}

function shortOf({ kind, target, predicted, unit, chain_id, slo_id }: Plan['slos'][number]): Constraint {
  // Of latency less is better: what it would be is what is needed.
  const [needed, available] = kind === 'latency' ? [predicted, target] : [target, predicted];
  return { constraint: kind, needed, available, unit, where: `${chain_id}, ${slo_id}` };
}

/** Objectives that were predicted to be met and are not any more, of chains that are kept. */
function missedObjectives(base: Plan | null, { slos, chains }: Plan): NotKept[] {
  const met = new Set(base?.slos.flatMap((slo) => (slo.met ? [`${slo.chain_id} ${slo.slo_id}`] : [])));
  return slos.flatMap((slo) => {
    if (slo.met || !met.has(`${slo.chain_id} ${slo.slo_id}`)) return [];
    const chain = chains.find(({ chain_id }) => chain_id === slo.chain_id)!;
    return [
      {
        chain_id: slo.chain_id,
        slo_id: slo.slo_id,
        priority: priorityOf(chain),
        because: 'No placement was found that meets it.',
        constraint: slo.constraint ?? shortOf(slo),
      },
    ];
  });
}
