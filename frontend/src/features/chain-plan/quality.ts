import type { Plan, PlanPart, Quality } from '@orrery/contract';
import { splitReasons } from './own-first.js';

export const PART_TITLES: Readonly<Record<PlanPart, string>> = {
  sizing: 'How many instances',
  infrastructure: 'Infrastructure',
  placement: 'Where instances run',
  offload: 'What the switch could run',
  chaining: 'Paths of flows',
  parallelization: 'What could run in parallel',
  provisioning: 'Where parallel forms would run',
  scheduling: 'Scheduling',
};

/** Parts whose results have a bound, in planning order. */
export const PROVEN_PARTS = ['placement', 'chaining', 'parallelization', 'provisioning', 'scheduling'] as const;

export const PROVEN_NAMES: Readonly<Record<(typeof PROVEN_PARTS)[number], string>> = {
  placement: 'Placement',
  chaining: 'Paths of flows',
  parallelization: 'Parallel forms',
  provisioning: 'Places of parallel forms',
  scheduling: 'Schedules',
};

/** A result with the bound from the plan and the one from a proof. */
export interface Proven {
  readonly answer: Quality;
  /** Bound and gap of the plan itself, if a proof raised the bound. */
  readonly before: Quality | null;
}

/** The plan's results with the bounds of a certificate, which has the same subjects in the same order. */
export function withCertificate(plan: readonly Quality[], certificate: readonly Quality[] | undefined): Proven[] {
  return plan.map((answer, index) => {
    const proven = certificate?.[index];
    if (proven?.part !== answer.part || proven.subject !== answer.subject) return { answer, before: null };
    const tighter = proven.bound > answer.bound || (proven.optimal && !answer.optimal);
    return { answer: proven, before: tighter ? answer : null };
  });
}

/** The reasons of a plan by the part that gave them, in the order of planning, empty parts left out. */
export function reasonsByPart(plan: Plan, chainId: string) {
  const { own, others } = splitReasons(plan, chainId);
  const parts = Object.keys(PART_TITLES) as PlanPart[];
  return parts
    .map((part) => ({
      part,
      title: PART_TITLES[part],
      own: own.filter((reason) => reason.part === part),
      others: others.filter((reason) => reason.part === part),
    }))
    .filter((group) => group.own.length + group.others.length > 0);
}
