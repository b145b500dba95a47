import type { Plan, Reason } from '@orrery/contract';

/** Splits a list into what belongs to a chain and what belongs to the others, each in its order. */
function split<T>(items: readonly T[], isOwn: (item: T) => boolean): { own: T[]; others: T[] } {
  return { own: items.filter(isOwn), others: items.filter((item) => !isOwn(item)) };
}

/** Subjects of decisions on the plan as a whole. */
const WHOLE = ['placement', 'infrastructure'];

/** Decisions on the plan as a whole, on a chain, its nodes, their instances and its traffic classes, and those on what else runs. */
export function splitReasons(plan: Plan, pipelineId: string): { own: Reason[]; others: Reason[] } {
  const isOwn = (item: { pipeline_id: string }) => item.pipeline_id === pipelineId;
  const nodes = plan.pgraph.nodes.filter(isOwn).map(({ id }) => id);
  const named = new Set([
    ...WHOLE,
    pipelineId,
    ...nodes,
    ...plan.classes.filter(isOwn).map(({ id }) => id),
    ...plan.parallel.filter(isOwn).map(({ id }) => id),
  ]);
  return split(plan.reasons, ({ subject }) => named.has(subject) || nodes.some((id) => subject.startsWith(`${id}.`)));
}

/** What is for a chain before what is for the others. */
export function ownFirst<T extends { readonly pipeline_id: string }>(items: readonly T[], pipelineId: string): T[] {
  const { own, others } = split(items, (item) => item.pipeline_id === pipelineId);
  return [...own, ...others];
}
