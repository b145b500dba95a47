import { useMemo } from 'react';
import { usePipelines } from './queries.js';

/** Titles of the chains by pipeline id; the id itself for one that is not known. */
export function useChainTitle(): (pipelineId: string) => string {
  const { data } = usePipelines();
  return useMemo(() => {
    const titles = new Map(data?.map(({ id, draft }) => [id, draft.title]));
    return (pipelineId) => titles.get(pipelineId) ?? pipelineId;
  }, [data]);
}

export function chainPath(pipelineId: string): string {
  return `/chains/${encodeURIComponent(pipelineId)}`;
}
