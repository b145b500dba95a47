import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { call } from '../../shared/api/client.js';
import { EVENTS_TOPIC } from '../../shared/stream/live-store.js';
import { live } from '../../shared/stream/stream.js';
import { isLaneEvent, LANE_EVENTS, type LaneEvent } from './lanes.js';

const LOGGED = 500;
const MOST_STREAMED = 2000;

/** Events of slots and boards, and times without a server: the end of the log, continued by the stream. */
export function useLaneEvents(): { events: readonly LaneEvent[]; error: unknown } {
  const log = useQuery({
    queryKey: ['lane-events'],
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const newest = (type: LaneEvent['type']) =>
        call('listEvents', { query: { type, limit: LOGGED, order: 'newest-first' } }, { signal });
      return (await Promise.all(LANE_EVENTS.map(newest))).flatMap(({ items }) => items.filter(isLaneEvent));
    },
  });
  const [streamed, setStreamed] = useState<readonly LaneEvent[]>(() => live.events().filter(isLaneEvent));
  useEffect(
    () =>
      live.subscribe(EVENTS_TOPIC, () => {
        const fresh = live.events().filter(isLaneEvent);
        setStreamed((before) => {
          const known = new Set(before.map(({ id }) => id));
          const added = fresh.filter(({ id }) => !known.has(id));
          return added.length === 0 ? before : [...before, ...added].slice(-MOST_STREAMED);
        });
      }),
    [],
  );
  const events = useMemo(() => [...(log.data ?? []), ...streamed], [log.data, streamed]);
  return { events, error: log.error };
}
