import { useSyncExternalStore } from 'react';

const TICK_MS = 1000;
let now = Date.now();
let monotonic = performance.now();
let timer: ReturnType<typeof setInterval> | null = null;
const listeners = new Set<() => void>();

function read(): void {
  now = Date.now();
  monotonic = performance.now();
}

/** Without a timer the values may be old, e.g. at the first rendering of a page. */
function refresh(): void {
  if (!timer && performance.now() - monotonic > TICK_MS) read();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    read();
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
    refresh();
    return now;
  });
}

/** Like `useNow`, by the monotonic clock (`performance.now()`), which nobody sets: for ages. */
export function useMonotonicNow(): number {
  return useSyncExternalStore(subscribe, () => {
    refresh();
    return monotonic;
  });
}

/** A condition on the monotonic time; the component renders only when the answer changes. */
export function useMonotonicSelect(select: (now_ms: number) => boolean): boolean {
  return useSyncExternalStore(subscribe, () => select(monotonic));
}
