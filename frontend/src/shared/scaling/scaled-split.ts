import { FLOW_SPACE, type NfRef, type NfSplit, type Plan } from '@orrery/contract';

/**
 * What a change of the number of instances ends in, as a plan is asked for it. Of an NF that is split in steps, switches keep the ranges
 * that they have, unless one goes to which they send flows: then they have those of the others at the end.
 */
export function scaledSplit(
  { chains, splits }: Pick<Plan, 'chains' | 'splits'>,
  nf: NfRef,
  instances: number,
): NfSplit {
  const { chain_id, node_id } = nf;
  const chain = chains.find((it) => it.chain_id === chain_id);
  const staged = chain?.splits?.find((it) => it.node_id === node_id)?.staged;
  if (!staged) return { node_id, instances };
  const now = splits.find((it) => it.chain_id === chain_id && it.node_id === node_id)?.targets;
  const held = staged.held ?? now?.map(({ range }) => range) ?? [{ lo: 0, hi: FLOW_SPACE }];
  if (held.length > instances) return { node_id, instances, keep_flows: null };
  return { node_id, instances, staged: { ...staged, held } };
}
