import type { NfRef } from '@orrery/contract';
import { useMemo } from 'react';
import { useChains } from './queries.js';

/** Titles seen since the page was loaded, because deleted chains are no longer listed. */
const seen = new Map<string, string>();

const asItIs = (id: string) => id;
const SHORT_ID = 6;
/** For places where an id can only be that of a chain; its end is enough to distinguish two chains. */
export const deletedChain = (id: string) =>
  `a deleted chain (${id.length > 2 * SHORT_ID ? `…${id.slice(-SHORT_ID)}` : id})`;

/** Name of the chain of an instance: the first part of its id, before node and ordinal. */
export const chainNameOf = (instanceId: string) => instanceId.split('.').slice(0, -2).join('.') || null;

/** Title of a chain; `name` is the fallback for one that may have been deleted. */
export type ChainTitle = (chainId: string, name?: string | null) => string;

/** Titles by chain id, including chains deleted since; `unknown` gives the text for an unknown id. */
export function useChainTitle(unknown: (id: string) => string = asItIs): ChainTitle {
  const { data } = useChains();
  return useMemo(() => {
    const listed = new Set(data?.map(({ id }) => id));
    for (const { id, draft } of data ?? []) seen.set(id, draft.title);
    return (chainId, name) => {
      const title = seen.get(chainId) ?? name;
      if (!data || listed.has(chainId)) return title ?? chainId;
      return title ? `${title} (deleted)` : unknown(chainId);
    };
  }, [data, unknown]);
}

export function chainPath(chainId: string): string {
  return `/chains/${encodeURIComponent(chainId)}`;
}

/** The plan of the chain's draft. */
export function planPath(chainId: string): string {
  return `${chainPath(chainId)}/plan`;
}

/** Identifies an NF of a chain in lists and URLs. */
export const nfKey = ({ chain_id, node_id }: NfRef) => `${chain_id} ${node_id}`;

/** Link to the page that moves an NF to a board slot. */
export function programPath(nf: NfRef): string {
  return `/accelerators?program=${encodeURIComponent(nfKey(nf))}`;
}
