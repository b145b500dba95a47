import { type Event, isMarked } from '@orrery/contract';
import { compareEventIds, pointBefore } from '../stream/event-id.js';
import { RECENT_EVENTS } from '../stream/live-store.js';

/** Marked events that are kept as they come in. */
export const MOST_LIVE_MARKS = 500;

export interface LiveMarks {
  /** Oldest first. The same list as before while none is added. */
  readonly events: readonly Event[];
  /** Up to this one they may have made way; null: none has since the page was opened. */
  readonly dropped_id: string | null;
  /** The newest event of any kind; null: none has come yet. */
  readonly latest_id: string | null;
}

const NOTHING: LiveMarks = { events: [], dropped_id: null, latest_id: null };

/** Keeps the events that charts mark, however many others come in between. */
export class LiveMarkList {
  #taken: readonly Event[] = [];
  #marks = NOTHING;

  /** `lately`: the last events of any kind, oldest first; an empty list forgets all. */
  take(lately: readonly Event[]): LiveMarks {
    if (lately === this.#taken) return this.#marks;
    this.#taken = lately;
    const [oldest] = lately;
    const newest = lately.at(-1);
    if (!oldest || !newest) this.#marks = NOTHING;
    else this.#marks = this.#with(lately, oldest, newest);
    return this.#marks;
  }

  #with(lately: readonly Event[], oldest: Event, newest: Event): LiveMarks {
    const { events, dropped_id, latest_id } = this.#marks;
    const isNew = ({ id }: Event) => latest_id === null || compareEventIds(id, latest_id) > 0;
    // Others have made way before they were looked at.
    const isCut = lately.length >= RECENT_EVENTS && isNew(oldest);
    const added = lately.filter((event) => isNew(event) && isMarked(event));
    const known = isCut ? [] : events;
    const all = added.length > 0 ? [...known, ...added] : known;
    const more = all.length - MOST_LIVE_MARKS;
    return {
      events: more > 0 ? all.slice(more) : all,
      dropped_id: more > 0 ? all[more - 1]!.id : isCut ? pointBefore(oldest.id) : dropped_id,
      latest_id: isNew(newest) ? newest.id : latest_id,
    };
  }
}
