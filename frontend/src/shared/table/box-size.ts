import { type RefObject, useEffect, useState } from 'react';

interface BoxSize {
  /** Whether its content overflows; such an element must be reachable with Tab. */
  readonly scrolls: boolean;
  readonly width_px: number;
}

const sizeOf = (element: HTMLElement): BoxSize => ({
  scrolls: element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight,
  width_px: element.clientWidth,
});

/** Size of an element; unbounded until it is laid out. */
export function useBoxSize(box: RefObject<HTMLElement | null>): BoxSize {
  const [size, setSize] = useState<BoxSize>({ scrolls: false, width_px: Number.POSITIVE_INFINITY });
  useEffect(() => {
    const element = box.current!;
    const observer = new ResizeObserver(() =>
      setSize((before) => {
        const now = sizeOf(element);
        return now.scrolls === before.scrolls && now.width_px === before.width_px ? before : now;
      }),
    );
    observer.observe(element);
    if (element.firstElementChild) observer.observe(element.firstElementChild);
    return () => observer.disconnect();
  }, [box]);
  return size;
}
