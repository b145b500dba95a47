import { useCallback, useState } from 'react';
import { useUrlParam } from '../ui/url-state.js';

export interface Sort {
  readonly id: string;
  readonly desc: boolean;
}

/** What an operator set on a table; `useTableAddress` keeps it in the address, `useLocalSettings` as long as the table is shown. */
export interface TableSettings {
  readonly filter: string;
  /** Null where the page filters by itself. */
  readonly setFilter: ((text: string) => void) | null;
  readonly sort: Sort | null;
  readonly setSort: (sort: Sort | null) => void;
}

const parseSort = (text: string): Sort | null =>
  text === '' ? null : text.startsWith('-') ? { id: text.slice(1), desc: true } : { id: text, desc: false };

/** Filter and sort in the address, for the one main table of a page: `?q=web&sort=-rate`. */
export function useTableAddress(): TableSettings {
  const [filter, setFilter] = useUrlParam('q');
  const [sort, setSort] = useUrlParam('sort');
  return {
    filter,
    setFilter,
    sort: parseSort(sort),
    setSort: (next) => setSort(next && `${next.desc ? '-' : ''}${next.id}`),
  };
}

export function useLocalSettings(): TableSettings {
  const [filter, setFilter] = useState('');
  const [sort, setSort] = useState<Sort | null>(null);
  return { filter, setFilter, sort, setSort };
}

const storageKey = (id: string) => `orrery.table.${id}`;

function stored(id: string): Record<string, boolean> {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(storageKey(id)) ?? '{}');
    return value !== null && typeof value === 'object' ? (value as Record<string, boolean>) : {};
  } catch {
    return {};
  }
}

/** Which columns were shown or hidden by choice, kept in this browser by the table's id. */
export function useChosenColumns(id: string): [Record<string, boolean>, (column: string, shown: boolean) => void] {
  const [chosen, setChosen] = useState(() => stored(id));
  const choose = useCallback(
    (column: string, shown: boolean) =>
      setChosen((before) => {
        const after = { ...before, [column]: shown };
        try {
          localStorage.setItem(storageKey(id), JSON.stringify(after));
        } catch {
          // A browser without storage forgets the choice when the page is left.
        }
        return after;
      }),
    [id],
  );
  return [chosen, choose];
}
