import { useSyncExternalStore } from 'react';

const TICK_MS = 1000;
let now = Date.now();
let timer: ReturnType<typeof setInterval> | null = null;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const one of listeners) one();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0 || !timer) return;
    clearInterval(timer);
    timer = null;
  };
}

/** The time, updated once a second by one timer for the whole page. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => {
    // Without a timer the value may be old, e.g. at the first rendering of a page.
    if (!timer && Date.now() - now > TICK_MS) now = Date.now();
    return now;
  });
}

/** A condition on the time; the component renders only when the answer changes. */
export function useNowSelect(select: (now: number) => boolean): boolean {
  return useSyncExternalStore(subscribe, () => select(now));
}
