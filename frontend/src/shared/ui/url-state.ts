import { useCallback } from 'react';
import { useSearchParams } from 'react-router';

/** Changes several parts of the page state in the URL at once: of two successive changes only the second would persist. */
export function useSetUrlParams(): (changes: Readonly<Record<string, string | null>>) => void {
  const [, setSearch] = useSearchParams();
  return useCallback(
    (changes) =>
      setSearch(
        (before) => {
          const after = new URLSearchParams(before);
          for (const [name, value] of Object.entries(changes)) {
            if (value) after.set(name, value);
            else after.delete(name);
          }
          return after;
        },
        { replace: true },
      ),
    [setSearch],
  );
}

/** A part of the page state that is kept in the URL. Empty values are omitted; no history entry is created. */
export function useUrlParam(name: string): [string, (value: string | null) => void] {
  const [search] = useSearchParams();
  const setParams = useSetUrlParams();
  const set = useCallback((value: string | null) => setParams({ [name]: value }), [name, setParams]);
  return [search.get(name) ?? '', set];
}
