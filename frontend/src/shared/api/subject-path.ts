import { useMemo } from 'react';
import { chainPath } from './chains.js';
import {
  useApplications,
  useChains,
  useInfrastructure,
  useLendingGroups,
  useLoops,
  useNfInstances,
  useOperations,
} from './queries.js';

/** The page of the subject of an event or a decision; null if it has none, or no longer. Of several ids the first counts. */
export function useSubjectPath(): (subject: string) => string | null {
  const { data: chains } = useChains();
  const { data: operations } = useOperations();
  const { data: network } = useInfrastructure();
  const { data: instances } = useNfInstances();
  const { data: loops } = useLoops();
  const { data: applications } = useApplications();
  const { data: lending } = useLendingGroups();
  return useMemo(() => {
    const paths = new Map<string, string>([['twin', '/twin']]);
    const at = (page: string, param: string, ids: readonly { readonly id: string }[] = []) => {
      for (const { id } of ids) paths.set(id, `${page}?${param}=${encodeURIComponent(id)}`);
    };
    for (const { id } of applications ?? []) paths.set(id, '/twin');
    for (const { id } of loops ?? []) paths.set(id, '/control-loops');
    at('/topology', 'node', network?.servers);
    at('/topology', 'node', network?.switches);
    at('/topology', 'node', network?.hosts);
    at('/topology', 'link', network?.links);
    at('/topology', 'board', network?.boards);
    at('/topology', 'nf', instances);
    at('/operations', 'op', operations?.items);
    for (const { id } of lending ?? []) paths.set(id, `/accelerators?view=lent&group=${encodeURIComponent(id)}`);
    for (const { id } of chains ?? []) paths.set(id, chainPath(id));
    return (subject) => paths.get(subject) ?? paths.get(subject.split(' ')[0]!) ?? null;
  }, [chains, operations, network, instances, loops, applications, lending]);
}
