import type { MeasuredRequest } from '@orrery/contract';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { listCounted } from '../../shared/api/queries.js';

/** Of the newest that are read first: there may be thousands. */
const NEWEST = 200;
/** What they get is measured, and changes without an event. */
const EVERY_MS = 2000;
const ALL_EVERY_MS = 10_000;

/** States of requests in trouble, the worst first. */
const TROUBLES = ['broken', 'late'] as const;

interface RequestsRead {
  /** Those in trouble first. */
  readonly items: readonly MeasuredRequest[];
  /** How many of the newest were asked for, or fewer if there are fewer; others are older. */
  readonly newest: number;
  /** How many there are to read. */
  readonly total: number;
}
export const NO_REQUESTS: RequestsRead = { items: [], newest: 0, total: 0 };

/** The newest requests and older ones in trouble, or all up to the bound of a list. */
export function useServiceRequests(all: boolean) {
  return useQuery({
    queryKey: ['service-requests', 'list', all],
    queryFn: async ({ signal }): Promise<RequestsRead> => {
      if (all) {
        const { items, total } = await listCounted('listServiceRequests', {}, signal);
        return { items: worstFirst(items), newest: items.length, total };
      }
      const read = (state?: (typeof TROUBLES)[number]) =>
        call('listServiceRequests', { query: { state, limit: NEWEST } }, { signal });
      const [newest, ...troubled] = await Promise.all([read(), ...TROUBLES.map((state) => read(state))]);
      const found = new Map([newest, ...troubled].flatMap(({ items }) => items.map((it) => [it.id, it] as const)));
      return { items: worstFirst([...found.values()]), newest: newest.items.length, total: newest.total };
    },
    refetchInterval: all ? ALL_EVERY_MS : EVERY_MS,
    placeholderData: keepPreviousData,
  });
}

/** In the same order otherwise. */
function worstFirst(requests: readonly MeasuredRequest[]): readonly MeasuredRequest[] {
  const rank = ({ state }: MeasuredRequest) => {
    const place = (TROUBLES as readonly string[]).indexOf(state);
    return place < 0 ? TROUBLES.length : place;
  };
  return requests.toSorted((a, b) => rank(a) - rank(b));
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
