import type { PipelineDefinition } from '@orrery/contract';
import { useQueries } from '@tanstack/react-query';
import { useCallback } from 'react';
import { usePipelines, versionQuery } from '../../../shared/api/queries.js';

/** What is deployed beside the chain that is edited. */
export function useOtherChains(id: string): readonly PipelineDefinition[] {
  const { data: all = NONE } = usePipelines();
  return useQueries({
    queries: all
      .filter((each) => each.id !== id && each.deployed_version !== null)
      .map((each) => versionQuery(each.id, each.deployed_version)),
    // One and the same list as long as the answers are the same.
    combine: useCallback((answers: readonly Answer[]) => answers.flatMap(({ data }) => data?.definition ?? []), []),
  });
}

interface Answer {
  readonly data: { readonly definition: PipelineDefinition } | undefined;
}
const NONE: never[] = [];
