import type { Event } from '@orrery/contract';

/** Events whose type begins with `Prefix`. */
export type EventsOf<Prefix extends string> = Extract<Event, { readonly type: `${Prefix}${string}` }>;

/** Those whose type begins with `prefix`, in the same order. */
export function eventsOf<Prefix extends string>(events: readonly Event[], prefix: Prefix): EventsOf<Prefix>[] {
  return events.filter((event): event is EventsOf<Prefix> => event.type.startsWith(prefix));
}
