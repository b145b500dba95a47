import type { Event, LinkSample, Sample } from '@orrery/contract';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { EVENTS_TOPIC, LINKS_TOPIC, LiveStore, RECENT_EVENTS, RING_POINTS, sampleTopic } from './live-store.js';

const sample = (key: string, t_ms: number, value: number): Sample => ({ key, t_ms, value, origin: 'twin' });
const event = (id: string) => ({ id }) as Event;

describe('LiveStore', () => {
  let flushes: (() => void)[];
  let store: LiveStore;
  let received_ms: number;
  const frame = () => {
    for (const flush of flushes.splice(0)) flush();
  };
  beforeEach(() => {
    flushes = [];
    received_ms = 5000;
    store = new LiveStore(
      (flush) => flushes.push(flush),
      () => received_ms,
    );
  });

  it('tells the listeners of what changed, once a frame', () => {
    const a = vi.fn();
    const b = vi.fn();
    store.subscribe(sampleTopic('node/a/cpu'), a);
    store.subscribe(sampleTopic('node/b/cpu'), b);
    for (let t = 1; t <= 100; t++) store.addSamples([sample('node/a/cpu', t, t)]);
    expect(flushes).toHaveLength(1);
    expect(a).not.toHaveBeenCalled();
    frame();
    expect(a).toHaveBeenCalledTimes(1);
    expect(b).not.toHaveBeenCalled();
    expect(store.sample('node/a/cpu')?.value).toBe(100);
  });

  it('ignores a point that came already, so that its age goes on', () => {
    store.addSamples([sample('k/a/pps', 10, 1)]);
    received_ms = 9000;
    store.addSamples([sample('k/a/pps', 10, 1)]);
    expect(store.sample('k/a/pps')).toMatchObject({ value: 1, received_ms: 5000 });
    expect(store.ring('k/a/pps')?.length).toBe(1);
  });

  it('takes as the latest what arrives last, and begins the series anew, when the clock of the points is set back', () => {
    const t = 1_700_000_000_000;
    for (const at of [t - 400, t - 200, t]) store.addSamples([sample('k/a/pps', at, 1)]);
    received_ms = 6000;
    const back = t - 600_000;
    store.addSamples([sample('k/a/pps', back, 7)]);
    expect(store.sample('k/a/pps')).toMatchObject({ value: 7, t_ms: back, received_ms: 6000 });
    store.addSamples([sample('k/a/pps', back + 200, 8)]);
    expect(store.ring('k/a/pps')?.points()).toEqual([
      [back, 7],
      [back + 200, 8],
    ]);
  });

  it('keeps the series when a point comes out of order', () => {
    store.addSamples([sample('k/a/pps', 5000, 1), sample('k/a/pps', 4900, 2), sample('k/a/pps', 5200, 3)]);
    expect(store.ring('k/a/pps')?.points()).toEqual([
      [5000, 1],
      [5200, 3],
    ]);
  });

  it('counts the age of what arrives by a clock that nobody sets', () => {
    const own = new LiveStore((flush) => flushes.push(flush));
    const before_ms = performance.now();
    own.addSamples([sample('k/a/pps', 10, 1)]);
    expect(own.sample('k/a/pps')!.received_ms).toBeGreaterThanOrEqual(before_ms);
    expect(own.sample('k/a/pps')!.received_ms).toBeLessThanOrEqual(performance.now());
  });

  it('seeds from a history in which the clock was set back, and keeps what came since', () => {
    store.addSamples([sample('k/a/pps', 2000, 7), sample('k/a/pps', 7000, 8)]);
    store.seed('k/a/pps', [
      [600_000, 1],
      [600_200, 1],
      [1000, 2],
      [1500, 3],
      [2000, 9],
      [9000, 9],
    ]);
    expect(store.ring('k/a/pps')?.points()).toEqual([
      [1000, 2],
      [1500, 3],
      [2000, 7],
      [7000, 8],
    ]);
  });

  it('keeps a bounded number of points and events', () => {
    for (let t = 1; t <= RING_POINTS + 50; t++) store.addSamples([sample('k/a/pps', t, t)]);
    const ring = store.ring('k/a/pps')!;
    expect(ring.length).toBe(RING_POINTS);
    expect(ring.timeAt(0)).toBe(51);
    expect(ring.valueAt(ring.length - 1)).toBe(RING_POINTS + 50);
    for (let id = 0; id < RECENT_EVENTS + 10; id++) store.addEvent(event(`${id}-0`));
    expect(store.events()).toHaveLength(RECENT_EVENTS);
    expect(store.events().at(-1)?.id).toBe(`${RECENT_EVENTS + 9}-0`);
  });

  it('puts history before what has come already', () => {
    store.addSamples([sample('k/a/pps', 100, 7)]);
    store.seed('k/a/pps', [
      [80, 1],
      [90, 2],
      [100, 9],
      [110, 9],
    ]);
    expect(store.ring('k/a/pps')?.points().slice(0, 2)).toEqual([
      [80, 1],
      [90, 2],
    ]);
    expect(store.sample('k/a/pps')?.value).toBe(7);
  });

  it('gives the same list of links until one changes', () => {
    const listener = vi.fn();
    store.subscribe(LINKS_TOPIC, listener);
    store.addLinks([{ link_id: 'a', up: true } as LinkSample]);
    frame();
    const before = store.links();
    store.addSamples([sample('k/a/pps', 1, 1)]);
    frame();
    expect(store.links()).toBe(before);
    store.addLinks([{ link_id: 'a', up: false } as LinkSample]);
    frame();
    expect(store.links()).not.toBe(before);
    expect(store.link('a')?.up).toBe(false);
    expect(listener).toHaveBeenCalledTimes(2);
  });

  it('forgets everything and says so', () => {
    const key = vi.fn();
    const events = vi.fn();
    store.addSamples([sample('k/a/pps', 1, 1)]);
    store.addEvent(event('1-0'));
    frame();
    store.subscribe(sampleTopic('k/a/pps'), key);
    store.subscribe(EVENTS_TOPIC, events);
    store.clear();
    frame();
    expect(store.sample('k/a/pps')).toBeUndefined();
    expect(key).toHaveBeenCalledTimes(1);
    expect(events).toHaveBeenCalledTimes(1);
  });

  it('does not tell a listener that has left', () => {
    const listener = vi.fn();
    const end = store.subscribe(sampleTopic('k/a/pps'), listener);
    store.addSamples([sample('k/a/pps', 1, 1)]);
    end();
    frame();
    expect(listener).not.toHaveBeenCalled();
  });
});
