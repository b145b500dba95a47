import type { Event, LinkSample, Sample, SloStatus } from '@orrery/contract';
import { Ring } from './ring.js';

/** Points a key keeps for sparklines: about half a minute at 5 Hz. */
export const RING_POINTS = 150;
const MAX_KEYS = 20_000;
const IDLE_KEY_MS = 60_000;
export const RECENT_EVENTS = 500;
/** A figure older than this is shown as stale. */
export const STALE_AFTER_MS = 3_000;

export interface LiveSample extends Sample {
  /** When this browser received it, by its monotonic clock (`performance.now()`): clocks that are set do not change an age. */
  readonly received_ms: number;
}
export interface LiveLink extends LinkSample {
  /** As in `LiveSample`. */
  readonly received_ms: number;
}

type Listener = () => void;

export const sampleTopic = (key: string) => `sample:${key}`;
export const linkTopic = (id: string) => `link:${id}`;
export const sloTopic = (chainId: string, sloId: string) => `slo:${chainId}/${sloId}`;
export const LINKS_TOPIC = 'links';
export const SLOS_TOPIC = 'slos';
export const EVENTS_TOPIC = 'events';
export const SAMPLES_TOPIC = 'samples';

/**
 * Latest values of the stream. Whatever arrives between two frames is delivered to the listeners of its topic once, at the
 * next frame, so that a burst costs one render of what it changed.
 */
export class LiveStore {
  readonly #samples = new Map<string, { latest: LiveSample | undefined; ring: Ring }>();
  readonly #links = new Map<string, LiveLink>();
  readonly #slos = new Map<string, SloStatus>();
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #dirty = new Set<string>();
  #linkList: readonly LiveLink[] = [];
  #sloList: readonly SloStatus[] = [];
  #events: readonly Event[] = [];
  #scheduled = false;
  /** Samples that were not kept because there were too many keys. */
  overflow = 0;

  constructor(
    private readonly schedule: (flush: () => void) => void = (flush) => requestAnimationFrame(flush),
    private readonly now: () => number = () => performance.now(),
  ) {}

  addSamples(samples: readonly Sample[]): void {
    const received_ms = this.now();
    for (const sample of samples) {
      const entry = this.#entry(sample.key);
      // The same point again is no newer; any other is the latest, whatever the clock that stamped it.
      if (!entry || entry.latest?.t_ms === sample.t_ms) continue;
      entry.ring.push(sample.t_ms, sample.value);
      entry.latest = { ...sample, received_ms };
      this.#dirty.add(sampleTopic(sample.key));
    }
    if (samples.length > 0) this.#dirty.add(SAMPLES_TOPIC);
    this.#plan();
  }

  /**
   * Prepends history to the stream's data, so that a sparkline is not empty when a page opens. Does not set a latest value:
   * that comes from the stream, with its time of receipt.
   */
  seed(key: string, points: readonly (readonly [number, number])[]): void {
    const entry = this.#entry(key);
    if (!entry || points.length === 0) return;
    const streamed = entry.ring.points();
    const begin_ms = streamed[0]?.[0] ?? Number.POSITIVE_INFINITY;
    const ring = new Ring(RING_POINTS);
    for (const [t_ms, value] of points) if (t_ms < begin_ms) ring.push(t_ms, value);
    for (const [t_ms, value] of streamed) ring.push(t_ms, value);
    entry.ring = ring;
    this.#dirty.add(sampleTopic(key));
    this.#plan();
  }

  addLinks(links: readonly LinkSample[]): void {
    if (links.length === 0) return;
    const received_ms = this.now();
    for (const link of links) {
      this.#links.set(link.link_id, { ...link, received_ms });
      this.#dirty.add(linkTopic(link.link_id));
    }
    this.#linkList = [...this.#links.values()];
    this.#dirty.add(LINKS_TOPIC);
    this.#plan();
  }

  addSlos(slos: readonly SloStatus[]): void {
    if (slos.length === 0) return;
    for (const slo of slos) {
      this.#slos.set(`${slo.chain_id}/${slo.slo_id}`, slo);
      this.#dirty.add(sloTopic(slo.chain_id, slo.slo_id));
    }
    this.#sloList = [...this.#slos.values()];
    this.#dirty.add(SLOS_TOPIC);
    this.#plan();
  }

  addEvent(event: Event): void {
    this.#events = [...this.#events.slice(-(RECENT_EVENTS - 1)), event];
    this.#dirty.add(EVENTS_TOPIC);
    this.#plan();
  }

  /** Drops everything: the user has changed, or there is a gap in the history. */
  clear(): void {
    for (const key of this.#samples.keys()) this.#dirty.add(sampleTopic(key));
    for (const id of this.#links.keys()) this.#dirty.add(linkTopic(id));
    for (const id of this.#slos.keys()) this.#dirty.add(`slo:${id}`);
    for (const topic of [LINKS_TOPIC, SLOS_TOPIC, EVENTS_TOPIC, SAMPLES_TOPIC]) this.#dirty.add(topic);
    this.#samples.clear();
    this.#links.clear();
    this.#slos.clear();
    this.#linkList = [];
    this.#sloList = [];
    this.#events = [];
    this.#plan();
  }

  sample(key: string): LiveSample | undefined {
    return this.#samples.get(key)?.latest;
  }
  ring(key: string): Ring | undefined {
    return this.#samples.get(key)?.ring;
  }
  link(id: string): LiveLink | undefined {
    return this.#links.get(id);
  }
  links(): readonly LiveLink[] {
    return this.#linkList;
  }
  slo(chainId: string, sloId: string): SloStatus | undefined {
    return this.#slos.get(`${chainId}/${sloId}`);
  }
  slos(): readonly SloStatus[] {
    return this.#sloList;
  }
  /** Lifecycle events since this page was opened, oldest first, at most `RECENT_EVENTS`. */
  events(): readonly Event[] {
    return this.#events;
  }

  subscribe(topic: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set();
    listeners.add(listener);
    this.#listeners.set(topic, listeners);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(topic);
    };
  }

  #plan(): void {
    if (this.#scheduled || this.#dirty.size === 0) return;
    this.#scheduled = true;
    this.schedule(() => {
      this.#scheduled = false;
      const topics = [...this.#dirty];
      this.#dirty.clear();
      for (const topic of topics) for (const listener of this.#listeners.get(topic) ?? []) listener();
    });
  }

  /** The entry of a key, created if new; undefined if there are too many. */
  #entry(key: string) {
    const known = this.#samples.get(key);
    if (known) return known;
    if (this.#samples.size >= MAX_KEYS) this.#forgetIdle(this.now());
    if (this.#samples.size >= MAX_KEYS) {
      this.overflow++;
      return undefined;
    }
    const made = { latest: undefined, ring: new Ring(RING_POINTS) };
    this.#samples.set(key, made);
    return made;
  }

  #forgetIdle(now: number): void {
    for (const [key, { latest }] of this.#samples) {
      if (!latest || now - latest.received_ms > IDLE_KEY_MS) this.#samples.delete(key);
    }
  }
}
