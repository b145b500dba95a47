import { EVENTS, type Event, type EventType, isMarked, type Severity } from '@orrery/contract';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo, useRef } from 'react';
import { call } from '../api/client.js';
import { serverNow } from '../api/server-clock.js';
import { useLiveEvents } from '../stream/hooks.js';

/** Events of the log that a chart marks, at most. */
const EARLIER = 500;
/** The log is read again when a chart has moved on by its length, and not more often than this. */
const LEAST_STEP_MS = 60_000;

/** Events so close to each other that a chart has one place for them. */
export interface EventMark {
  readonly t_s: number;
  /** The worst. */
  readonly severity: Severity;
  /** Oldest first. */
  readonly events: readonly Event[];
}

const RANK: Readonly<Record<Severity, number>> = { info: 0, warning: 1, error: 2 };

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

/** The next mark (1) or the one before (-1), seen from a time; from none, the newest or the oldest. Null: there is none. */
export function markBeside(marks: readonly EventMark[], t_s: number | null, step: number): EventMark | null {
  if (t_s === null) return (step < 0 ? marks.at(-1) : marks[0]) ?? null;
  const beside = marks.filter((mark) => (step < 0 ? mark.t_s < t_s : mark.t_s > t_s));
  return (step < 0 ? beside.at(-1) : beside[0]) ?? marks.find((mark) => mark.t_s === t_s) ?? null;
}

/** Those of a mark that are shown first: the worst, and of these the newest. */
export function worstFirst({ events }: EventMark): readonly Event[] {
  return events.toSorted((a, b) => RANK[b.severity] - RANK[a.severity] || b.t_ms - a.t_ms);
}

/** Of the whole network, whose links and switches every chain shares: each chart marks them. */
const OF_ALL: ReadonlySet<string> = new Set([
  'twin',
  'server',
  'scenario-run',
  'infrastructure',
  'fault',
  'link',
  'switch',
]);

/** Whether an event is about one of these parts, or about the whole network. */
export function isAbout(event: Event, parts: ReadonlySet<string>): boolean {
  if (OF_ALL.has(EVENTS[event.type].about)) return true;
  return event.subject.split(' ').some((id) => parts.has(id)) || names(event.data, parts, MOST_DEPTH);
}

/** Data of events are this deep at most where they name parts. */
const MOST_DEPTH = 4;

function names(data: unknown, parts: ReadonlySet<string>, depth: number): boolean {
  if (typeof data === 'string') return parts.has(data);
  if (typeof data !== 'object' || data === null || depth === 0) return false;
  return Object.values(data).some((each) => names(each, parts, depth - 1));
}

export interface MarkedEvents {
  /** Oldest first. The same list as before while nothing is added that the chart marks. */
  readonly events: readonly Event[];
  /** Earlier ones are not known, though the chart begins before; null: all are. */
  readonly since_ms: number | null;
}

/**
 * What a chart of so many seconds marks: of the log, and as it comes in. `parts`: only what is about them; null: everything.
 * `from_s`: the left edge of a chart that does not end now.
 */
export function useMarkedEvents(windowS: number, parts: ReadonlySet<string> | null, from_s?: number): MarkedEvents {
  const stepMs = Math.max(LEAST_STEP_MS, 1000 * windowS);
  const leftMs = from_s === undefined ? serverNow() - 1000 * windowS : 1000 * from_s;
  const edgeMs = Math.max(0, Math.floor(leftMs / stepMs) * stepMs);
  const { data } = useQuery({
    queryKey: ['events', 'marked', edgeMs],
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => {
      const query = { limit: EARLIER, order: 'newest-first', marked: 'true', after: `${edgeMs}-0` } as const;
      return call('listEvents', { query }, { signal });
    },
  });
  const lately = useLiveEvents();
  const last = useRef<readonly Event[]>([]);
  const events = useMemo(() => {
    const isShown = (event: Event) => isMarked(event) && (parts === null || isAbout(event, parts));
    const byId = new Map([...(data?.items ?? []), ...lately].filter(isShown).map((event) => [event.id, event]));
    const marked = [...byId.values()].sort((a, b) => a.t_ms - b.t_ms);
    const isSame = marked.length === last.current.length && marked.every(({ id }, i) => id === last.current[i]!.id);
    if (!isSame) last.current = marked;
    return last.current;
  }, [data, lately, parts]);
  const read_ms = data?.items.length === EARLIER ? (data.items.at(-1)?.t_ms ?? 0) : 0;
  const since_ms = Math.max(read_ms, data?.begins_ms ?? 0);
  return { events, since_ms: since_ms > leftMs ? since_ms : null };
}

/** `Fault injected: link server-1 is down`. */
export function markText({ type, message }: Event): string {
  return message === '' ? EVENTS[type as EventType].title : message;
}

/** What was marked at each point of an axis: from its time until the next point; the first one has what was before, too. */
export function textsAt(times: readonly number[], events: readonly Event[]): string[] {
  const texts = times.map((): string[] => []);
  let at = 0;
  for (const event of events) {
    while (at + 1 < times.length && times[at + 1]! * 1000 <= event.t_ms) at++;
    texts[at]?.push(markText(event));
  }
  return texts.map((each) => each.join('; '));
}
