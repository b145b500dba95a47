import type { NfRef } from '@orrery/contract';
import { useMemo } from 'react';
import { usePipelines } from './queries.js';

/** Titles seen since the page was loaded, because a chain that is deleted is no longer listed. */
const seen = new Map<string, string>();

const asItIs = (id: string) => id;
const SHORT_ID = 6;
/** For places where an id can be nothing but that of a chain; its end is enough to tell two of them apart. */
export const deletedChain = (id: string) =>
  `a deleted chain (${id.length > 2 * SHORT_ID ? `…${id.slice(-SHORT_ID)}` : id})`;

/** Name of the chain of an instance: what its id begins with, before node and ordinal. */
export const chainNameOf = (instanceId: string) => instanceId.split('.').slice(0, -2).join('.') || null;

/** Tells what a chain is called; `name` is what is known of one that may be deleted. */
export type ChainTitle = (pipelineId: string, name?: string | null) => string;

/** Titles of the chains by pipeline id, also of those deleted since; `unknown` says what an id is that names no chain. */
export function useChainTitle(unknown: (id: string) => string = asItIs): ChainTitle {
  const { data } = usePipelines();
  return useMemo(() => {
    const listed = new Set(data?.map(({ id }) => id));
    for (const { id, draft } of data ?? []) seen.set(id, draft.title);
    return (pipelineId, name) => {
      const title = seen.get(pipelineId) ?? name;
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
