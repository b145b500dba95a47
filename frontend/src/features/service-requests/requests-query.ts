import type { MeasuredRequest } from '@orrery/contract';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { listCounted } from '../../shared/api/queries.js';

/** Of the newest that are read first: there may be thousands. */
const NEWEST = 200;
/** What they get is measured, and changes without an event. */
const EVERY_MS = 2000;
const ALL_EVERY_MS = 10_000;

interface RequestsRead {
  readonly items: readonly MeasuredRequest[];
  /** How many there are to read. */
  readonly total: number;
}
export const NO_REQUESTS: RequestsRead = { items: [], total: 0 };

/** The newest requests, or all up to the bound of a list. */
export function useServiceRequests(all: boolean) {
  return useQuery({
    queryKey: ['service-requests', 'list', all],
    queryFn: async ({ signal }): Promise<RequestsRead> => {
      if (!all) return call('listServiceRequests', { query: { limit: NEWEST } }, { signal });
      return listCounted('listServiceRequests', {}, signal);
    },
    refetchInterval: all ? ALL_EVERY_MS : EVERY_MS,
    placeholderData: keepPreviousData,
  });
}

/** One that is not in the list that was read; null: none. */
export function useServiceRequest(id: string | null) {
  return useQuery({
    queryKey: ['service-requests', 'one', id],
    enabled: id !== null,
    queryFn: ({ signal }) => call('getServiceRequest', { params: { id: id! } }, { signal }),
    refetchInterval: EVERY_MS,
  });
}

/** How many there are, as the server counts them. */
export function useServiceRequestCounts() {
  return useQuery({
    queryKey: ['service-requests', 'counts'],
    queryFn: async ({ signal }) => {
      const count = async (of: { readonly state: 'active' | 'broken' }) =>
        (await call('listServiceRequests', { query: { ...of, limit: 1, fields: 'id' } }, { signal })).total;
      const [active, broken] = await Promise.all([count({ state: 'active' }), count({ state: 'broken' })]);
      return { active, broken };
    },
    refetchInterval: EVERY_MS,
  });
}
