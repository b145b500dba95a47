import type { Event } from '@orrery/contract';
import { expect, it } from 'vitest';
import { RECENT_EVENTS } from '../stream/live-store.js';
import { LiveMarkList, MOST_LIVE_MARKS } from './live-marks.js';

const event = (t_ms: number, type: Event['type']) => ({ id: `${t_ms}-0`, t_ms, severity: 'info', type }) as Event;
const marked = (t_ms: number) => event(t_ms, 'operation.completed');
const other = (t_ms: number) => event(t_ms, 'loop.decided');
/** As the stream keeps them. */
const lastOf = (all: readonly Event[]) => all.slice(-RECENT_EVENTS);

it('keeps what charts mark over any number of other events', () => {
  const list = new LiveMarkList();
  const all = [marked(1), other(2)];
  const first = list.take(all);
  expect(first).toEqual({ events: [all[0]], dropped_id: null, latest_id: '2-0' });
  for (let t = 3; t < 3 * RECENT_EVENTS; t++) {
    all.push(other(t));
    if (t % 100 === 0) expect(list.take(lastOf(all)).events).toBe(first.events);
  }
  expect(list.take(lastOf(all))).toMatchObject({ events: [all[0]], dropped_id: null, latest_id: all.at(-1)!.id });
  expect(list.take([])).toEqual({ events: [], dropped_id: null, latest_id: null });
});

it('says up to where marks have made way', () => {
  const list = new LiveMarkList();
  const all: Event[] = [];
  for (let t = 1; t <= MOST_LIVE_MARKS + 3; t++) {
    all.push(marked(t));
    list.take(lastOf(all));
  }
  const { events, dropped_id } = list.take(lastOf(all));
  expect(events).toHaveLength(MOST_LIVE_MARKS);
  expect([dropped_id, events[0]!.id]).toEqual(['3-0', '4-0']);
});

it('knows nothing of what came and went while it did not look', () => {
  const list = new LiveMarkList();
  list.take([marked(1)]);
  const many = Array.from({ length: RECENT_EVENTS }, (_, n) => other(1000 + n));
  expect(list.take(many)).toEqual({ events: [], dropped_id: '999-999999999', latest_id: many.at(-1)!.id });
  expect(list.take([...many.slice(1), marked(5000)])).toMatchObject({
    events: [{ id: '5000-0' }],
    dropped_id: '999-999999999',
  });
});
