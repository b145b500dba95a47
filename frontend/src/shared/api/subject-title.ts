import { useMemo } from 'react';
import { operationTitle } from '../format/operation.js';
import { deletedChain, useChainTitle } from './chains.js';
import { useOperations } from './queries.js';

/**
 * What people call the subject of an event or a decision: the title of a chain or an operation, otherwise its id. A
 * subject may consist of several ids, e.g. chain and objective, with spaces between them.
 */
export function useSubjectTitle(): (subject: string) => string {
  const titleOf = useChainTitle();
  const chainTitleOf = useChainTitle(deletedChain);
  const { data } = useOperations();
  return useMemo(() => {
    const operations = new Map(data?.items.map((operation) => [operation.id, operation]));
    const ofId = (id: string) => {
      const operation = operations.get(id);
      return operation ? operationTitle(operation, chainTitleOf) : titleOf(id);
    };
    return (subject) => subject.split(' ').map(ofId).join(' ');
  }, [data, titleOf, chainTitleOf]);
}
