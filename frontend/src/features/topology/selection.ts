import { useCallback } from 'react';
import { useSearchParams } from 'react-router';
import type { Target } from './frame.js';

const PARAMS = ['node', 'link', 'nf', 'board', 'joint'] as const;

/** The selected element, in the URL as `?node=`, `?link=`, `?nf=`, `?board=` or `?joint=`. */
export function useSelection(): [Target | null, (target: Target | null) => void] {
  const [search, setSearch] = useSearchParams();
  const kind = PARAMS.find((param) => search.has(param));
  const id = kind && search.get(kind);
  const select = useCallback(
    (target: Target | null) =>
      setSearch(
        (before) => {
          const after = new URLSearchParams(before);
          for (const param of PARAMS) after.delete(param);
          if (target) after.set(target.kind, target.id);
          return after;
        },
        { replace: true },
      ),
    [setSearch],
  );
  return [kind && id ? { kind, id } : null, select];
}
