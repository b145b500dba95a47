import type { ChainDefinition } from '@orrery/contract';
import { useQueries } from '@tanstack/react-query';
import { useCallback } from 'react';
import { useChains, versionQuery } from '../api/queries.js';

/** Deployed chains other than the one being edited. */
export function useOtherChains(id: string): readonly ChainDefinition[] {
  const { data: all = NONE } = useChains();
  return useQueries({
    queries: all
      .filter((each) => each.id !== id && each.deployed_version !== null)
      .map((each) => versionQuery(each.id, each.deployed_version)),
    // The same list object while the responses are equal.
    combine: useCallback((answers: readonly Answer[]) => answers.flatMap(({ data }) => data?.definition ?? []), []),
  });
}

interface Answer {
  readonly data: { readonly definition: ChainDefinition } | undefined;
}
const NONE: never[] = [];
