import type { Event } from '@orrery/contract';
import { endingOf } from './ending.js';

type Told = Pick<Event, 'type' | 'subject' | 'message' | 'data'>;

/** How an NF ended, of an event that tells it; null: the event is of something else. */
export function endingIn(event: Pick<Told, 'type' | 'data'>) {
  if (event.type !== 'instance.ended') return null;
  return 'how' in event.data && typeof event.data.how === 'string' ? endingOf(event.data.how) : null;
}

/** What happened, in words; without the log of an NF that ended, which the event's details have. */
export function eventText(event: Told): string {
  const ending = endingIn(event);
  return ending ? `${event.subject} does not run. ${ending.text}` : event.message;
}
