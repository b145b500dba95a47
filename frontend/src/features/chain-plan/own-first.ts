import type { Plan, Reason } from '@orrery/contract';

/** Splits a list into what belongs to a chain and what belongs to the others, each in its order. */
function split<T>(items: readonly T[], isOwn: (item: T) => boolean): { own: T[]; others: T[] } {
  return { own: items.filter(isOwn), others: items.filter((item) => !isOwn(item)) };
}

/** Subjects of decisions on the plan as a whole. */
const WHOLE = ['placement', 'infrastructure'];

/** Decisions on the plan as a whole, on a chain, its nodes, their instances and its traffic classes, and those on what else runs. */
export function splitReasons(plan: Plan, chainId: string): { own: Reason[]; others: Reason[] } {
  const isOwn = (item: { chain_id: string }) => item.chain_id === chainId;
  const nodes = plan.pgraph.nodes.filter(isOwn).map(({ id }) => id);
  const named = new Set([
    ...WHOLE,
    chainId,
    ...nodes,
    ...plan.classes.filter(isOwn).map(({ id }) => id),
    ...plan.parallel.filter(isOwn).map(({ id }) => id),
  ]);
  return split(plan.reasons, ({ subject }) => named.has(subject) || nodes.some((id) => subject.startsWith(`${id}.`)));
}

/** Sorts what belongs to the chain before the rest. */
export function ownFirst<T extends { readonly chain_id: string }>(items: readonly T[], chainId: string): T[] {
  const { own, others } = split(items, (item) => item.chain_id === chainId);
  return [...own, ...others];
}
