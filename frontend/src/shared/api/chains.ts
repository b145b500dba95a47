import type { NfRef } from '@orrery/contract';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { call } from './client.js';
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

const NONE: readonly string[] = [];
const NEWEST = 500;

/** Ids and last titles of the chains that were deleted most recently, as the event log has them; read once, when needed. */
function useDeletedChains(needed: boolean) {
  return useQuery({
    queryKey: ['deleted-chains'],
    enabled: needed,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const query = { type: 'chain.deleted', order: 'newest-first', limit: NEWEST } as const;
      const { items } = await call('listEvents', { query }, { signal });
      return items.flatMap((event) =>
        event.type === 'chain.deleted' && event.data.title ? [[event.subject, event.data.title] as const] : [],
      );
    },
  });
}

/**
 * Titles by chain id, including deleted chains; `unknown` gives the text for an unknown id. Chains that were deleted before the
 * page was loaded are looked up if `shown`, ids of chains in a history, has any.
 */
export function useChainTitle(unknown: (id: string) => string = asItIs, shown: readonly string[] = NONE): ChainTitle {
  const { data } = useChains();
  const listed = useMemo(() => new Map(data?.map(({ id, draft }) => [id, draft.title])), [data]);
  const isGone = (id: string) => !listed.has(id) && !seen.has(id);
  const { data: deleted } = useDeletedChains(data !== undefined && shown.some(isGone));
  return useMemo(() => {
    for (const [id, title] of listed) seen.set(id, title);
    const known = new Map(deleted);
    return (chainId, name) => {
      const title = seen.get(chainId) ?? known.get(chainId) ?? name;
      if (!data || listed.has(chainId)) return title ?? chainId;
      return title ? `${title} (deleted)` : unknown(chainId);
    };
  }, [data, listed, deleted, unknown]);
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
