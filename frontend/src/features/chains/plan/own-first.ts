import type { Plan, Reason } from '@orrery/contract';

/** Splits a list into what belongs to a chain and what belongs to the others, each in its order. */
function split<T>(items: readonly T[], isOwn: (item: T) => boolean): { own: T[]; others: T[] } {
  return { own: items.filter(isOwn), others: items.filter((item) => !isOwn(item)) };
}

/** Decisions on the nodes of a chain, or on their instances, and those on what else runs. */
export function splitReasons(plan: Plan, pipelineId: string): { own: Reason[]; others: Reason[] } {
  const nodes = plan.pgraph.nodes.filter((node) => node.pipeline_id === pipelineId).map(({ id }) => id);
  return split(plan.reasons, ({ subject }) => nodes.some((id) => subject === id || subject.startsWith(`${id}.`)));
}

/** What is predicted for a chain before what is predicted for the others. */
export function ownFirst(slos: Plan['slos'], pipelineId: string): Plan['slos'] {
  const { own, others } = split(slos, (slo) => slo.pipeline_id === pipelineId);
  return [...own, ...others];
}
