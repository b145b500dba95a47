import type { NfRef } from '@orrery/contract';
import { useMemo } from 'react';
import { usePipelines } from './queries.js';

/** Titles seen since the page was loaded, because a chain that is deleted is no longer listed. */
const seen = new Map<string, string>();

const asItIs = (id: string) => id;
/** For places where an id can be nothing but that of a chain. */
export const deletedChain = (id: string) => `a deleted chain (${id})`;

/** Titles of the chains by pipeline id, also of those deleted since; `unknown` says what an id is that names no chain. */
export function useChainTitle(unknown: (id: string) => string = asItIs): (pipelineId: string) => string {
  const { data } = usePipelines();
  return useMemo(() => {
    const listed = new Set(data?.map(({ id }) => id));
    for (const { id, draft } of data ?? []) seen.set(id, draft.title);
    return (pipelineId) => {
      const title = seen.get(pipelineId);
      if (!data || listed.has(pipelineId)) return title ?? pipelineId;
      return title ? `${title} (deleted)` : unknown(pipelineId);
    };
  }, [data, unknown]);
}

export function chainPath(pipelineId: string): string {
  return `/chains/${encodeURIComponent(pipelineId)}`;
}

/** The plan of the chain's draft. */
export function planPath(pipelineId: string): string {
  return `${chainPath(pipelineId)}/plan`;
}

/** Tells an NF of a chain in lists and addresses. */
export const nfKey = ({ pipeline_id, node_id }: NfRef) => `${pipeline_id} ${node_id}`;

/** Where an NF is given a board's slot. */
export function programPath(nf: NfRef): string {
  return `/accelerators?program=${encodeURIComponent(nfKey(nf))}`;
}
