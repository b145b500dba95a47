import { useLayoutEffect, useRef } from 'react';

/** `fresh` in the order of `kept`: removed items are dropped, new ones are appended. */
export function heldOrder(fresh: readonly string[], kept: readonly string[]): readonly string[] {
  const now = new Set(fresh);
  const before = new Set(kept);
  return [...kept.filter((key) => now.has(key)), ...fresh.filter((key) => !before.has(key))];
}

/**
 * The order in which rows are shown. While `held`, the previous order, so that rows do not move under the pointer or focus.
 * A different `sorting` (sort or filter) applies immediately.
 */
export function useHeldOrder(fresh: readonly string[], held: boolean, sorting: string): readonly string[] {
  const shown = useRef<{ sorting: string; keys: readonly string[] }>({ sorting, keys: fresh });
  const { current } = shown;
  const keys = held && current.sorting === sorting ? heldOrder(fresh, current.keys) : fresh;
  useLayoutEffect(() => {
    shown.current = { sorting, keys };
  });
  return keys;
}
