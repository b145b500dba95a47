import { EVENTS, type Event, type EventType, isAbout, type Severity } from '@orrery/contract';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo, useRef } from 'react';
import { call } from '../api/client.js';
import { serverNow } from '../api/server-clock.js';
import { clockText } from '../format/time.js';
import { compareEventIds } from '../stream/event-id.js';
import { useLiveEvents } from '../stream/hooks.js';
import { LiveMarkList, type LiveMarks } from './live-marks.js';

/** Events of the log that a chart marks, at most. */
export const EARLIER = 500;
/** Characters. */
const MOST_ABOUT = 4000;
/** The log is read again when a chart has moved on by its length, and not more often than this. */
const LEAST_STEP_MS = 60_000;
/** Of one mark so many events are told; the rest is counted. */
const MOST_TOLD = 4;
/** So often, too, while what was read does not join what came in since, or could not be read. */
const RETRY_MS = 10_000;

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

export interface MarkedEvents {
  /** Oldest first. The same list as before while nothing is added that the chart marks. */
  readonly events: readonly Event[];
  /** Earlier ones may be missing, though the chart begins before; null: none is. */
  readonly since_ms: number | null;
}

/** What the log had of marked events. */
interface MarksRead {
  /** It was asked for those after this time, */
  readonly edge_ms: number;
  /** and for those about these parts; absent: for all. */
  readonly about: string | undefined;
  /** Newest first. */
  readonly items: readonly Event[];
  readonly begins_ms: number | null;
  /** The newest event that had come in before; null: none had. */
  readonly until_id: string | null;
}

/** Whether events that came in after the log was read have made way already. */
function isBehind({ items, until_id }: MarksRead, { dropped_id }: LiveMarks): boolean {
  const isOlder = (id: string | null | undefined) => !id || compareEventIds(id, dropped_id!) < 0;
  return dropped_id !== null && isOlder(until_id) && isOlder(items[0]?.id);
}

/** No marked event since this time is missing. `read`: absent while the log was not read. */
export function knownSinceMs(read: MarksRead | undefined, live: LiveMarks, nowMs: number): number {
  if (!read || isBehind(read, live)) return live.events[0]?.t_ms ?? nowMs;
  const { items, edge_ms, begins_ms } = read;
  return Math.max(items.length === EARLIER ? items.at(-1)!.t_ms : edge_ms, begins_ms ?? 0);
}

/** Ids of the parts, as long as an address may be; absent: of everything, or of too many. */
function aboutOf(parts: ReadonlySet<string> | null): string | undefined {
  const about = parts && [...parts].sort().join(',');
  return about && about.length <= MOST_ABOUT ? about : undefined;
}

const liveMarks = new LiveMarkList();

/**
 * What a chart of so many seconds marks: of the log, and as it comes in. `parts`: only what is about them; null: everything.
 * `from_s`: the left edge of a chart that does not end now.
 */
export function useMarkedEvents(windowS: number, parts: ReadonlySet<string> | null, from_s?: number): MarkedEvents {
  const stepMs = Math.max(LEAST_STEP_MS, 1000 * windowS);
  const leftMs = from_s === undefined ? serverNow() - 1000 * windowS : 1000 * from_s;
  const edgeMs = Math.max(0, Math.floor(leftMs / stepMs) * stepMs);
  const about = useMemo(() => aboutOf(parts), [parts]);
  const live = liveMarks.take(useLiveEvents());
  const { data } = useQuery<MarksRead>({
    queryKey: ['events', 'marked', edgeMs, about],
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data, error } }) => (!data || error || isBehind(data, live) ? RETRY_MS : false),
    queryFn: async ({ signal }) => {
      const until_id = live.latest_id;
      const query = { limit: EARLIER, order: 'newest-first', marked: 'true', after: `${edgeMs}-0` } as const;
      const asked = about === undefined ? query : { ...query, about };
      const { items, begins_ms } = await call('listEvents', { query: asked }, { signal });
      return { edge_ms: edgeMs, about, items, begins_ms, until_id };
    },
  });
  const last = useRef<readonly Event[]>([]);
  const events = useMemo(() => {
    const isShown = (event: Event) => parts === null || isAbout(event, parts);
    const byId = new Map([...(data?.items ?? []), ...live.events].filter(isShown).map((event) => [event.id, event]));
    const marked = [...byId.values()].sort((a, b) => a.t_ms - b.t_ms);
    const isSame = marked.length === last.current.length && marked.every(({ id }, i) => id === last.current[i]!.id);
    if (!isSame) last.current = marked;
    return last.current;
  }, [data, live.events, parts]);
  // Until the log was read for other parts, what is shown of them came in.
  const since_ms = knownSinceMs(data?.about === about ? data : undefined, live, serverNow());
  return { events, since_ms: since_ms > leftMs ? since_ms : null };
}

/** `Fault injected: link server-1 is down`. */
export function markText({ type, message }: Event): string {
  return message === '' ? EVENTS[type as EventType].title : message;
}

/** What is told of a mark, the worst first, and how many events more there are. */
export function toldOf(mark: EventMark): { readonly told: readonly Event[]; readonly more: number } {
  const events = worstFirst(mark);
  return { told: events.slice(0, MOST_TOLD), more: Math.max(0, events.length - MOST_TOLD) };
}

/** `10:31:02 Fault injected: link server-1 is down; 10:30:58 Operation completed; and 3 more` */
export function toldText(mark: EventMark): string {
  const { told, more } = toldOf(mark);
  const lines = told.map((event) => `${clockText(event.t_ms)} ${markText(event)}`);
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

/** What was marked at each point of an axis: from its time until the next point. What was before the first is in none. */
export function textsAt(times: readonly number[], events: readonly Event[]): string[] {
  const texts = times.map((): string[] => []);
  let at = 0;
  for (const event of events) {
    if (event.t_ms < times[0]! * 1000) continue;
    while (at + 1 < times.length && times[at + 1]! * 1000 <= event.t_ms) at++;
    texts[at]?.push(markText(event));
  }
  return texts.map((each) => each.join('; '));
}
