import type { Accelerator } from '@orrery/contract';
import { useQuery } from '@tanstack/react-query';
import { call, callFull, followPage } from './client.js';
import type { CallInput, CallResult, RouteName } from './routes.js';

type ListRoute = {
  [N in RouteName]: CallResult<N> extends { items: readonly unknown[]; total: number } ? N : never;
}[RouteName];
type ItemOf<N extends ListRoute> = CallResult<N> extends { items: readonly (infer T)[] } ? T : never;

const PAGE_ITEMS = 500;
const MOST_ITEMS = 5000;

/** Every item of a collection, page by page, up to a bound. */
export async function listAll<N extends ListRoute>(
  name: N,
  query: Record<string, unknown> = {},
  signal?: AbortSignal,
): Promise<readonly ItemOf<N>[]> {
  type Page = { items: readonly ItemOf<N>[]; total: number };
  const input = { query: { limit: PAGE_ITEMS, ...query } } as unknown as CallInput<N>;
  let { data, next } = (await callFull(name, input, { signal })) as unknown as { data: Page; next: string | null };
  const items = [...data.items];
  while (next !== null && items.length < MOST_ITEMS) {
    ({ data, next } = await followPage<Page>(next, signal));
    items.push(...data.items);
  }
  return items;
}

function useList<N extends ListRoute>(name: N, resource: string, refetchInterval: number | false = false) {
  return useQuery({
    queryKey: [resource, name],
    queryFn: ({ signal }) => listAll(name, {}, signal),
    refetchInterval,
  });
}

export const useNfDescriptors = () => useList('listNfDescriptors', 'nf-descriptors');
export const usePipelines = () => useList('listPipelines', 'pipelines');
export const useDeployments = () => useList('listDeployments', 'deployments');
export const useNfInstances = () => useList('listNfInstances', 'nf-instances');
export const useNodes = () => useList('listNodes', 'nodes');
export const useCapabilities = () => useList('listCapabilities', 'capabilities');
export const useSlos = () => useList('listSlos', 'slos', 10_000);
export const useTraffic = () => useList('listTraffic', 'twin', 1000);
export const useFaults = () => useList('listFaults', 'twin', 10_000);
export const usePcaps = () => useList('listPcaps', 'twin');

export const useBoardModules = () => useList('listBoardModules', 'board-modules');
export const useReconfigurationPolicies = () =>
  useList('listReconfigurationPolicies', 'reconfiguration-policies', 2000);

/** Boards as they are now. Bytes of a load come without an event of their own. */
export function useAccelerators() {
  return useQuery({
    queryKey: ['accelerators', 'list'],
    queryFn: ({ signal }) => listAll('listAccelerators', {}, signal),
    refetchInterval: ({ state }) => (state.data?.some(isLoading) ? 500 : 10_000),
  });
}
const isLoading = ({ state, slots }: Accelerator) => state === 'loading' || slots.some((slot) => slot.load !== null);

/** The newest reconfigurations. */
export function useReconfigurations(limit = 200) {
  return useQuery({
    queryKey: ['reconfigurations', 'list', limit],
    queryFn: ({ signal }) => call('listReconfigurations', { query: { limit } }, { signal }),
    refetchInterval: ({ state }) => (state.data?.items.some((item) => item.state === 'running') ? 1000 : false),
  });
}

/** The newest operations. */
export function useOperations(limit = 200) {
  return useQuery({
    queryKey: ['operations', 'list', limit],
    queryFn: ({ signal }) => call('listOperations', { query: { limit } }, { signal }),
    // Steps may end without an event of their own.
    refetchInterval: ({ state }) => (state.data?.items.some(({ state }) => state === 'PROCESSING') ? 1000 : false),
  });
}

export function useOperation(id: string | null | undefined) {
  return useQuery({
    queryKey: ['operations', 'one', id],
    enabled: id !== null && id !== undefined,
    queryFn: ({ signal }) => call('getOperation', { params: { id: id! } }, { signal }),
    refetchInterval: ({ state }) =>
      state.data?.state === 'PROCESSING' || state.data?.state === 'ROLLING_BACK' ? 400 : false,
  });
}

/** A pipeline and the ETag that a save of its draft must name. */
export function usePipeline(id: string | undefined) {
  return useQuery({
    queryKey: ['pipelines', 'one', id],
    enabled: id !== undefined,
    queryFn: async ({ signal }) => {
      const { data, etag } = await callFull('getPipeline', { params: { id: id! } }, { signal });
      return { pipeline: data, etag };
    },
  });
}

export function usePipelineVersions(id: string | undefined) {
  return useQuery({
    queryKey: ['pipelines', 'versions', id],
    enabled: id !== undefined,
    queryFn: ({ signal }) => call('listPipelineVersions', { params: { id: id! }, query: {} }, { signal }),
  });
}

/** A published version; it never changes, so that it is read once. */
export const versionQuery = (id: string, version: number | null) => ({
  queryKey: ['pipelines', 'version', id, version],
  enabled: version !== null,
  staleTime: Number.POSITIVE_INFINITY,
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    call('getPipelineVersion', { params: { id, version: version! } }, { signal }),
});

/** Plans never change once made. */
export function usePlan(id: string | null | undefined) {
  return useQuery({
    queryKey: ['plans', 'one', id],
    enabled: id !== null && id !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => call('getPlan', { params: { id: id! } }, { signal }),
  });
}

/** Counters of one chain's instances since they started. */
export function useCounters(pipelineId: string) {
  return useQuery({
    queryKey: ['counters', pipelineId],
    queryFn: ({ signal }) => listAll('listCounters', { pipeline_id: pipelineId }, signal),
    refetchInterval: 2000,
  });
}

export function useInfrastructure() {
  return useQuery({
    queryKey: ['infrastructure'],
    queryFn: ({ signal }) => call('getInfrastructure', {}, { signal }),
  });
}

export function useTwin() {
  return useQuery({
    queryKey: ['twin', 'status'],
    queryFn: ({ signal }) => call('getTwin', {}, { signal }),
    refetchInterval: 10_000,
  });
}

export function useHealth() {
  return useQuery({
    queryKey: ['health'],
    queryFn: ({ signal }) => call('getHealth', {}, { signal }),
    refetchInterval: 10_000,
  });
}

/** What the server remembers of some sample keys, at most ten minutes; the stream goes on from there. */
export function useSeries(keys: readonly string[]) {
  return useQuery({
    queryKey: ['samples', keys],
    enabled: keys.length > 0,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    queryFn: ({ signal }) => call('listSamples', { query: { keys: keys.join(',') } }, { signal }),
  });
}
