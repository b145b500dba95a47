import { EVENTS, type Event, type EventType, type Severity } from '@orrery/contract';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useRef } from 'react';
import { call } from '../api/client.js';
import { useLiveEvents } from '../stream/hooks.js';

/** Events before the page was opened that charts mark, at most. */
const EARLIER = 500;

/** Events so close to each other that a chart has one place for them. */
export interface EventMark {
  readonly t_s: number;
  /** The worst. */
  readonly severity: Severity;
  /** Oldest first. */
  readonly events: readonly Event[];
}

const RANK: Readonly<Record<Severity, number>> = { info: 0, warning: 1, error: 2 };

/** Whether charts mark the event: something may be wrong, or what is measured may change. */
export function isMarked({ type, severity }: Pick<Event, 'type' | 'severity'>): boolean {
  return severity !== 'info' || (EVENTS[type] as { readonly marks?: boolean }).marks === true;
}

/** Marks between two times, those joined that are less than `nearS` after the first of their mark. */
export function marksBetween(events: readonly Event[], fromS: number, toS: number, nearS: number): EventMark[] {
  const marks: { t_s: number; severity: Severity; events: Event[] }[] = [];
  for (const event of events) {
    const t_s = event.t_ms / 1000;
    if (t_s < fromS || t_s > toS) continue;
    const last = marks.at(-1);
    if (!last || t_s - last.t_s >= nearS) marks.push({ t_s, severity: event.severity, events: [event] });
    else {
      last.events.push(event);
      if (RANK[event.severity] > RANK[last.severity]) last.severity = event.severity;
    }
  }
  return marks;
}

/** Nearest mark, if it is at most `withinS` away. */
export function markAt(marks: readonly EventMark[], t_s: number, withinS: number): EventMark | null {
  let nearest: EventMark | null = null;
  for (const mark of marks)
    if (Math.abs(mark.t_s - t_s) <= Math.abs((nearest?.t_s ?? Number.POSITIVE_INFINITY) - t_s)) nearest = mark;
  return nearest && Math.abs(nearest.t_s - t_s) <= withinS ? nearest : null;
}

/** Those of a mark that are shown first: the worst, and of these the newest. */
export function worstFirst({ events }: EventMark): readonly Event[] {
  return events.toSorted((a, b) => RANK[b.severity] - RANK[a.severity] || b.t_ms - a.t_ms);
}

/** What charts mark, oldest first: of the log, and as it comes in. The same list as before while nothing is added that they mark. */
export function useMarkedEvents(): readonly Event[] {
  const { data } = useQuery({
    queryKey: ['events', 'marked'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => call('listEvents', { query: { limit: EARLIER, order: 'newest-first' } }, { signal }),
  });
  const lately = useLiveEvents();
  const last = useRef<readonly Event[]>([]);
  return useMemo(() => {
    const byId = new Map([...(data?.items ?? []), ...lately].filter(isMarked).map((event) => [event.id, event]));
    const marked = [...byId.values()].sort((a, b) => a.t_ms - b.t_ms);
    const isSame = marked.length === last.current.length && marked.every(({ id }, i) => id === last.current[i]!.id);
    if (!isSame) last.current = marked;
    return last.current;
  }, [data, lately]);
}

/** `Fault injected: link server-1 is down`. */
export function markText({ type, message }: Event): string {
  return message === '' ? EVENTS[type as EventType].title : message;
}
