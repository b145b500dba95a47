import type { Accelerator, NfInstance } from '@orrery/contract';
import { useQuery } from '@tanstack/react-query';
import { call, callFull, followPage } from './client.js';
import type { CallInput, CallResult, RouteName } from './routes.js';
import { serverNow } from './server-clock.js';

type ListRoute = {
  [N in RouteName]: CallResult<N> extends { items: readonly unknown[]; total: number } ? N : never;
}[RouteName];
type ItemOf<N extends ListRoute> = CallResult<N> extends { items: readonly (infer T)[] } ? T : never;

const PAGE_ITEMS = 500;
const MOST_ITEMS = 5000;

interface Listed<T> {
  readonly items: readonly T[];
  /** How many there are, as the server counts them. */
  readonly total: number;
}

/** Every item of a collection, page by page, up to a bound. */
export async function listAll<N extends ListRoute>(
  name: N,
  query: Record<string, unknown> = {},
  signal?: AbortSignal,
  params?: Readonly<Record<string, string>>,
): Promise<readonly ItemOf<N>[]> {
  return (await listCounted(name, query, signal, params)).items;
}

/** As `listAll`, for lists of which there may be more than the bound. */
export async function listCounted<N extends ListRoute>(
  name: N,
  query: Record<string, unknown> = {},
  signal?: AbortSignal,
  params?: Readonly<Record<string, string>>,
): Promise<Listed<ItemOf<N>>> {
  type Page = { items: readonly ItemOf<N>[]; total: number };
  const input = { params, query: { limit: PAGE_ITEMS, ...query } } as unknown as CallInput<N>;
  let { data, next } = (await callFull(name, input, { signal })) as unknown as { data: Page; next: string | null };
  const items = [...data.items];
  while (next !== null && items.length < MOST_ITEMS) {
    ({ data, next } = await followPage<Page>(next, signal));
    items.push(...data.items);
  }
  return { items, total: data.total };
}

function useList<N extends ListRoute>(name: N, resource: string, refetchInterval: number | false = false) {
  return useQuery({
    queryKey: [resource, name],
    queryFn: ({ signal }) => listAll(name, {}, signal),
    refetchInterval,
  });
}

export const useNfDescriptors = () => useList('listNfDescriptors', 'nf-descriptors');
export const useChains = () => useList('listChains', 'chains');
export const useDeployments = () => useList('listDeployments', 'deployments');
/** That an NF runs again, as after a restart, has no event; that its agent is connected again has. */
export function useNfInstances() {
  return useQuery({
    queryKey: ['nf-instances', 'listNfInstances'],
    queryFn: ({ signal }) => listAll('listNfInstances', {}, signal),
    refetchInterval: ({ state: { data, dataUpdatedAt } }) =>
      data?.some(isOnItsWay) ? unchangedMs(data, dataUpdatedAt) : false,
  });
}
const isOnItsWay = ({ state }: NfInstance) => state !== 'running' && state !== 'unknown';

const firstReadMs = new WeakMap<object, number>();
/** For how long a list was read again without a change, from 1 s to 10 s: as an interval, each is about twice the one before. */
function unchangedMs(list: object, read_ms: number): number {
  const first_ms = firstReadMs.get(list) ?? read_ms;
  firstReadMs.set(list, first_ms);
  return Math.min(Math.max(read_ms - first_ms, 1000), 10_000);
}
export const useNodes = () => useList('listNodes', 'nodes');
export const useP4Programs = () => useList('listP4Programs', 'p4-programs');
/** Counters and installed entries change without an event. */
export const useSwitches = () => useList('listSwitches', 'switches', 2000);
export const useSwitchRules = (id: string) =>
  useQuery({
    queryKey: ['switches', 'rules', id],
    queryFn: ({ signal }) => listAll('listSwitchRules', {}, signal, { id }),
    refetchInterval: 2000,
  });
export const useSwitchEntries = (id: string, filter: Readonly<Record<'table' | 'rule_id', string>>) =>
  useQuery({
    queryKey: ['switches', 'entries', id, filter],
    queryFn: ({ signal }) => {
      const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ''));
      return listAll('listSwitchEntries', given, signal, { id });
    },
    refetchInterval: 2000,
  });
/** How many service requests are under way, and in trouble, as the server counts them. */
export function useServiceRequestCounts() {
  return useQuery({
    queryKey: ['service-requests', 'counts'],
    queryFn: async ({ signal }) => {
      const count = async (state: 'active' | 'late' | 'broken') =>
        (await call('listServiceRequests', { query: { state, limit: 1, fields: 'id' } }, { signal })).total;
      const [active, late, broken] = await Promise.all([count('active'), count('late'), count('broken')]);
      return { active, late, broken };
    },
    refetchInterval: 10_000,
  });
}
/** What they get is measured, and changes without an event. */
export const useServicePools = () => useList('listServicePools', 'service-pools', 2000);
export const useCapabilities = () => useList('listCapabilities', 'capabilities');
/** Servers and boards that plans do not use, or that are back. */
export const useOutOfService = () => useList('listOutOfService', 'out-of-service', 10_000);
/** Chains that were taken down for want of room, the most important first. */
export const useChainsNotKept = () => useList('listChainsNotKept', 'chains-not-kept', 10_000);
export const useLoops = () => useList('listLoops', 'loops', 2000);
export const useSloAlerts = () => useList('listSloAlerts', 'slos', 10_000);
export const useSlos = () => useList('listSlos', 'slos', 10_000);
/** Metrics change without an event. */
export const useApplications = () => useList('listApplications', 'applications', 1000);
export const useApplicationKinds = () => useList('listApplicationKinds', 'application-kinds');
export const useFaults = () => useList('listFaults', 'twin', 10_000);
export const usePcaps = () => useList('listPcaps', 'twin');

export const useBoardModules = () => useList('listBoardModules', 'board-modules');
export const useReconfigurationPolicies = () =>
  useList('listReconfigurationPolicies', 'reconfiguration-policies', 2000);

/** Usage and times change without an event. */
export const useLendingGroups = () => useList('listLendingGroups', 'lending-groups', 2000);
/** Those that ended lately, or have not. */
export const useLendingTurns = (id: string, windowS: number) =>
  useQuery({
    queryKey: ['lending-turns', id, windowS],
    queryFn: ({ signal }) => listAll('listLendingTurns', { since: serverNow() - windowS * 1000 }, signal, { id }),
    // Events tell of new turns; those that left the window are left out at times.
    refetchInterval: 30_000,
  });
/** The newest runs. Their progress has no events. */
export function useScenarioRuns() {
  return useQuery({
    queryKey: ['scenario-runs'],
    queryFn: ({ signal }) => call('listScenarioRuns', { query: { limit: 50 } }, { signal }),
    refetchInterval: ({ state }) => (state.data?.items.some((run) => run.state === 'running') ? 1000 : 10_000),
  });
}

/** Whether an NF is overloaded or idle has no event. */
export const useScalingPolicies = () => useList('listScalingPolicies', 'scaling-policies', 2000);
export const useScalings = () => useList('listScalings', 'scalings', 2000);

/** Current state of boards. The progress of a load, or of a start, has no events. */
export function useAccelerators() {
  return useQuery({
    queryKey: ['accelerators', 'list'],
    queryFn: ({ signal }) => listAll('listAccelerators', {}, signal),
    refetchInterval: ({ state }) => (state.data?.some(isLoading) ? 500 : state.data?.some(isStarting) ? 2000 : 10_000),
  });
}
const isStarting = ({ state }: Accelerator) => state === 'starting';
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
    // Steps may end without an event.
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

/** A chain and the ETag that a save of its draft must name. */
export function useChain(id: string | undefined) {
  return useQuery({
    queryKey: ['chains', 'one', id],
    enabled: id !== undefined,
    queryFn: async ({ signal }) => {
      const { data, etag } = await callFull('getChain', { params: { id: id! } }, { signal });
      return { chain: data, etag };
    },
  });
}

export function useChainVersions(id: string | undefined) {
  return useQuery({
    queryKey: ['chains', 'versions', id],
    enabled: id !== undefined,
    queryFn: ({ signal }) => call('listChainVersions', { params: { id: id! }, query: {} }, { signal }),
  });
}

/** A published version; immutable, so it is read once. */
export const versionQuery = (id: string, version: number | null) => ({
  queryKey: ['chains', 'version', id, version],
  enabled: version !== null,
  staleTime: 'static' as const,
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    call('getChainVersion', { params: { id, version: version! } }, { signal }),
});

/** Plans are immutable. */
export const storedPlanQuery = (id: string | null | undefined) => ({
  queryKey: ['plans', 'one', id],
  enabled: id !== null && id !== undefined,
  staleTime: 'static' as const,
  queryFn: ({ signal }: { signal: AbortSignal }) => call('getPlan', { params: { id: id! } }, { signal }),
});
export const usePlan = (id: string | null | undefined) => useQuery(storedPlanQuery(id));

/** Counters of one chain's instances since they started. */
export function useCounters(chainId: string) {
  return useQuery({
    queryKey: ['counters', chainId],
    queryFn: ({ signal }) => listAll('listCounters', { chain_id: chainId }, signal),
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

/** The server's history of some sample keys, at most ten minutes; the stream continues it. */
export function useSeries(keys: readonly string[]) {
  return useQuery({
    queryKey: ['samples', keys],
    enabled: keys.length > 0,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    queryFn: ({ signal }) => call('listSamples', { query: { keys: keys.join(',') } }, { signal }),
  });
}
