import { useVirtualizer } from '@tanstack/react-virtual';
import type { RefObject } from 'react';

/** Above this many rows only those in view are drawn. */
export const ALL_DRAWN_ROWS = 150;
const ROW_PX = 33;

export interface DrawnRows {
  readonly indexes: readonly number[];
  /** Height of the rows that are not drawn, in pixels. */
  readonly above_px: number;
  readonly below_px: number;
  readonly reveal: (index: number) => void;
  /** For each drawn row, whose height may be another than that of most rows; none where every row is drawn. */
  readonly measure: ((row: HTMLElement | null) => void) | undefined;
}

/** Which rows of a table are in the document: all of a short one, of a long one those in view. */
export function useDrawnRows(box: RefObject<HTMLElement | null>, keys: readonly string[]): DrawnRows {
  const virtual = keys.length > ALL_DRAWN_ROWS;
  const virtualizer = useVirtualizer({
    enabled: virtual,
    count: keys.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
    getItemKey: (index) => keys[index] ?? index,
  });
  if (!virtual)
    return { indexes: keys.map((_, index) => index), above_px: 0, below_px: 0, reveal: () => {}, measure: undefined };
  const items = virtualizer.getVirtualItems();
  return {
    indexes: items.map(({ index }) => index),
    above_px: items[0]?.start ?? 0,
    below_px: virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0),
    reveal: (index) => virtualizer.scrollToIndex(index),
    measure: virtualizer.measureElement,
  };
}
