import type { Event, EventType, Severity } from '@orrery/contract';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { type Answer, callFull, followPage } from '../../shared/api/client.js';
import { compareEventIds } from '../../shared/stream/event-id.js';
import { EVENTS_TOPIC, RECENT_EVENTS } from '../../shared/stream/live-store.js';
import { live } from '../../shared/stream/stream.js';

const PAGE_EVENTS = 200;
/** Maximum number of live events before the page reloads the log. */
const MOST_LIVE = 4000;

export interface FeedFilter {
  readonly type: EventType | '';
  readonly severity: Severity | '';
}

export function matchesFilter(event: Event, { type, severity }: FeedFilter): boolean {
  return (type === '' || event.type === type) && (severity === '' || event.severity === severity);
}

/** `subject` is what the reader sees for the event's subject, which may be a title instead of an id. */
export function matchesText(event: Event, subject: string, text: string): boolean {
  if (text === '') return true;
  const words = text.toLowerCase().split(/\s+/);
  const all = `${event.type} ${event.subject} ${subject} ${event.message} ${event.actor}`.toLowerCase();
  return words.every((word) => all.includes(word));
}

/** Every event once, newest first, whatever the overlap of the lists. */
export function mergeNewestFirst(...lists: readonly (readonly Event[])[]): Event[] {
  const byId = new Map<string, Event>();
  for (const list of lists) for (const event of list) byId.set(event.id, event);
  return [...byId.values()].sort((a, b) => compareEventIds(b.id, a.id));
}

/**
 * Appends the stream's buffer to the page's events. `gap`: the stream has dropped events in between (a tab that was suspended
 * for too long), so the log must be reloaded.
 */
export function takeLive(
  have: readonly Event[],
  kept: readonly Event[],
  full: boolean,
): { list: Event[]; gap: boolean } {
  const last = have.at(-1);
  if (!last) return { list: [...kept], gap: false };
  const newer = kept.filter((event) => compareEventIds(event.id, last.id) > 0);
  const first = kept[0];
  const gap = full && first !== undefined && newer.length === kept.length;
  return { list: gap ? [...kept] : [...have, ...newer], gap };
}

/** The event log from the newest backwards, continued by the stream. */
export function useEventFeed(filter: FeedFilter) {
  const query = useInfiniteQuery({
    queryKey: ['events', filter.type, filter.severity],
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }): Promise<Answer<{ items: Event[]; total: number }>> =>
      pageParam === null
        ? callFull(
            'listEvents',
            {
              query: {
                limit: PAGE_EVENTS,
                order: 'newest-first',
                ...(filter.type ? { type: filter.type } : {}),
                ...(filter.severity ? { severity: filter.severity } : {}),
              },
            },
            { signal },
          )
        : followPage(pageParam, signal),
    getNextPageParam: (page) => page.next,
  });
  const { refetch } = query;

  const [streamed, setStreamed] = useState<readonly Event[]>(() => live.events());
  useEffect(() => {
    let have: readonly Event[] = live.events();
    return live.subscribe(EVENTS_TOPIC, () => {
      const kept = live.events();
      const { list, gap } =
        kept.length === 0 ? { list: [], gap: false } : takeLive(have, kept, kept.length >= RECENT_EVENTS);
      have = list;
      if (gap || list.length > MOST_LIVE) {
        have = kept;
        void refetch();
      }
      setStreamed(have);
    });
  }, [refetch]);

  const events = useMemo(
    () =>
      mergeNewestFirst(
        ...(query.data?.pages.map(({ data }) => data.items) ?? []),
        query.data ? streamed.filter((event) => matchesFilter(event, filter)) : [],
      ),
    [query.data, streamed, filter],
  );
  return { query, events };
}
