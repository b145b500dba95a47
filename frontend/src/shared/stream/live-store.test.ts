import type { Event, LinkSample, Sample } from '@orrery/contract';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { EVENTS_TOPIC, LINKS_TOPIC, LiveStore, RECENT_EVENTS, RING_POINTS, sampleTopic } from './live-store.js';

const sample = (key: string, t_ms: number, value: number): Sample => ({ key, t_ms, value, origin: 'twin' });
const event = (id: string) => ({ id }) as Event;

describe('LiveStore', () => {
  let flushes: (() => void)[];
  let store: LiveStore;
  const frame = () => {
    for (const flush of flushes.splice(0)) flush();
  };
  beforeEach(() => {
    flushes = [];
    store = new LiveStore(
      (flush) => flushes.push(flush),
      () => 5000,
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

  it('ignores a value that is not newer', () => {
    store.addSamples([sample('k/a/pps', 10, 1), sample('k/a/pps', 10, 2), sample('k/a/pps', 9, 3)]);
    expect(store.sample('k/a/pps')?.value).toBe(1);
    expect(store.ring('k/a/pps')?.length).toBe(1);
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
