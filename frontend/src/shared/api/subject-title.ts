import type { NfRef } from '@orrery/contract';
import { useMemo } from 'react';
import { chainsOf, operationTitle } from '../format/operation.js';
import { deletedChain, useChainTitle } from './chains.js';
import {
  useLendingGroups,
  useLoops,
  useOperations,
  useReconfigurationPolicies,
  useReconfigurations,
} from './queries.js';

const NONE: readonly string[] = [];

/**
 * What people call the subject of an event or a decision: the title of a chain, an operation, a control loop or a lending group,
 * the NF of a policy or a reconfiguration, otherwise its id. A subject may consist of several ids, e.g. chain and objective, with spaces
 * between them. `chains` are ids of chains in a history, which may have been deleted.
 */
export function useSubjectTitle(chains: readonly string[] = NONE): (subject: string) => string {
  const { data } = useOperations();
  const { data: loops } = useLoops();
  const { data: lending } = useLendingGroups();
  const { data: policies } = useReconfigurationPolicies();
  const { data: reconfigurations } = useReconfigurations();
  const shown = useMemo(() => [...chains, ...chainsOf(data?.items ?? [])], [chains, data]);
  const titleOf = useChainTitle();
  const chainTitleOf = useChainTitle(deletedChain, shown);
  return useMemo(() => {
    const operations = new Map(data?.items.map((operation) => [operation.id, operation]));
    const nfOf = ({ chain_id, node_id }: NfRef) => `${node_id} of ${chainTitleOf(chain_id)}`;
    const named = new Map((loops ?? []).map(({ id, title }) => [id, title]));
    for (const { id, title } of lending ?? []) named.set(id, title);
    for (const { id, nf } of policies ?? []) named.set(id, `policy of ${nfOf(nf)}`);
    for (const { id, moves: moved } of reconfigurations?.items ?? [])
      if (moved[0]) named.set(id, `move of ${nfOf(moved[0])}`);
    const ofId = (id: string) => {
      const operation = operations.get(id);
      return operation ? operationTitle(operation, chainTitleOf) : (named.get(id) ?? titleOf(id));
    };
    return (subject) => subject.split(' ').map(ofId).join(' ');
  }, [data, loops, lending, policies, reconfigurations, titleOf, chainTitleOf]);
}
