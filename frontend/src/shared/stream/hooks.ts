import type { Event, SloStatus } from '@orrery/contract';
import { useCallback, useEffect, useMemo, useSyncExternalStore } from 'react';
import { useStore } from 'zustand';
import { byServerClock } from '../api/server-clock.js';
import { useMonotonicSelect } from './clock.js';
import {
  EVENTS_TOPIC,
  LINKS_TOPIC,
  type LiveLink,
  type LiveSample,
  linkTopic,
  SLOS_TOPIC,
  STALE_AFTER_MS,
  sampleTopic,
  sloTopic,
} from './live-store.js';
import type { Ring } from './ring.js';
import { live, streamStore, wantSamples } from './stream.js';
import { isCut, type StreamStatus } from './stream-client.js';

function useTopic<T>(topic: string, read: () => T): T {
  const subscribe = useCallback((listener: () => void) => live.subscribe(topic, listener), [topic]);
  return useSyncExternalStore(subscribe, read);
}

export function useStreamStatus<T>(select: (status: StreamStatus) => T): T {
  return useStore(streamStore, select);
}

/** Since when the browser is cut off from the server, by the server's clock; null: it is not. */
export function useCutSince(): number | null {
  const cut_ms = useStreamStatus(({ state, since_ms }) => (state === 'reconnecting' ? since_ms : null));
  return useMemo(() => (cut_ms === null ? null : byServerClock(cut_ms)), [cut_ms]);
}

/** Asks the server for these samples while the component is on the page. */
export function useWantSamples(prefixes: readonly string[]): void {
  const text = prefixes.join('\n');
  useEffect(() => (text === '' ? undefined : wantSamples(text.split('\n'))), [text]);
}

/** Latest value of one key. Precondition: a `useWantSamples` above the component covers it. */
export function useSample(key: string): LiveSample | undefined {
  return useTopic(sampleTopic(key), () => live.sample(key));
}

/** Result of `read` on the latest known values of several keys; must be a primitive, because changes trigger a render. */
export function useSamples<T extends string | number | boolean | null>(
  keys: readonly string[],
  read: (samples: readonly LiveSample[]) => T,
): T {
  const text = keys.join('\n');
  const subscribe = useCallback(
    (listener: () => void) => {
      const ends = text.split('\n').map((key) => live.subscribe(sampleTopic(key), listener));
      return () => {
        for (const end of ends) end();
      };
    },
    [text],
  );
  return useSyncExternalStore(subscribe, () => read(keys.flatMap((key) => live.sample(key) ?? [])));
}

/** The last points of one key, for drawing; a render for each change, also where the ring is the same object. */
export function useSampleRing(key: string): Ring | undefined {
  useTopic(sampleTopic(key), () => live.ring(key)?.version ?? 0);
  return live.ring(key);
}

export function useLink(id: string): LiveLink | undefined {
  return useTopic(linkTopic(id), () => live.link(id));
}
export function useLinks(): readonly LiveLink[] {
  return useTopic(LINKS_TOPIC, () => live.links());
}
/** Ids of the links that are down. Precondition: a `useWantSamples` above the component covers them. */
export function useDownLinkIds(): readonly string[] {
  const text = useTopic(LINKS_TOPIC, () =>
    live
      .links()
      .flatMap(({ link_id, up }) => (up ? [] : [link_id]))
      .join('\n'),
  );
  return useMemo(() => (text === '' ? [] : text.split('\n')), [text]);
}
export function useLiveSlo(chainId: string, sloId: string): SloStatus | undefined {
  return useTopic(sloTopic(chainId, sloId), () => live.slo(chainId, sloId));
}
export function useLiveSlos(): readonly SloStatus[] {
  return useTopic(SLOS_TOPIC, () => live.slos());
}
/** Events since the page was opened, oldest first. */
export function useLiveEvents(): readonly Event[] {
  return useTopic(EVENTS_TOPIC, () => live.events());
}

/**
 * Whether this browser is cut off from the server: whatever it shows of the present is the last that it knew, and is marked as
 * stale. False before the first connection, when what is shown has just been read.
 */
export function useCut(): boolean {
  return useStreamStatus(isCut);
}

/** Whether a figure received at this time, by the monotonic clock, is stale. */
export function useStale(received_ms: number | undefined): boolean {
  const cut = useCut();
  const old = useMonotonicSelect((now) => received_ms !== undefined && now - received_ms > STALE_AFTER_MS);
  return old || (cut && received_ms !== undefined);
}
