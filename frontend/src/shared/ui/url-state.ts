import { useCallback } from 'react';
import { useSearchParams } from 'react-router';

/** A part of the page's state that lives in the address. An empty value is left out; the history gets no entry. */
export function useUrlParam(name: string): [string, (value: string | null) => void] {
  const [search, setSearch] = useSearchParams();
  const set = useCallback(
    (value: string | null) =>
      setSearch(
        (before) => {
          const after = new URLSearchParams(before);
          if (value) after.set(name, value);
          else after.delete(name);
          return after;
        },
        { replace: true },
      ),
    [name, setSearch],
  );
  return [search.get(name) ?? '', set];
}
