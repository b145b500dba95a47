import { type KeyboardEvent, type RefObject, useLayoutEffect, useRef, useState } from 'react';

const PAGE_ROWS = 10;

/** The row that a keystroke moves to; null: none. */
export function rowAfter(key: string, index: number, count: number): number | null {
  const to = {
    ArrowDown: index + 1,
    ArrowUp: index - 1,
    Home: 0,
    End: count - 1,
    PageDown: index + PAGE_ROWS,
    PageUp: index - PAGE_ROWS,
  }[key];
  return to === undefined ? null : Math.min(Math.max(to, 0), count - 1);
}

export interface RowFocus {
  /** Key of the row that is the Tab stop. */
  readonly tabStop: string | undefined;
  readonly setStop: (key: string) => void;
  readonly onKeyDown: (event: KeyboardEvent<HTMLElement>) => void;
}

/**
 * Moves the focus among the controls of rows by the arrow keys, Home, End and the page keys. One row is the stop of the Tab
 * key: the one that was focused last, else the first. `reveal` brings a row into the table that is not drawn.
 */
export function useRowFocus(
  body: RefObject<HTMLTableSectionElement | null>,
  keys: readonly string[],
  reveal: (index: number) => void,
): RowFocus {
  const [stop, setStop] = useState<string | null>(null);
  const wanted = useRef<string | null>(null);
  useLayoutEffect(() => {
    if (wanted.current === null) return;
    const row = [...(body.current?.rows ?? [])].find(({ dataset }) => dataset.key === wanted.current);
    const control = row?.querySelector<HTMLElement>('.row-link');
    if (!control) return;
    wanted.current = null;
    control.focus();
  });
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const target = event.target as HTMLElement;
    const from = target.closest('tr')?.dataset.key;
    if (!target.classList.contains('row-link') || from === undefined) return;
    const to = rowAfter(event.key, keys.indexOf(from), keys.length);
    if (to === null) return;
    event.preventDefault();
    if (keys[to] === from) return;
    wanted.current = keys[to]!;
    reveal(to);
    setStop(keys[to]!);
  };
  const tabStop = stop !== null && keys.includes(stop) ? stop : keys[0];
  return { tabStop, setStop, onKeyDown };
}
