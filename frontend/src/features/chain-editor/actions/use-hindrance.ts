import { useStore } from 'zustand';
import { useEditor } from '../../../shared/chain-draft/context.js';
import { useSaver } from '../../../shared/chain-draft/saver-context.js';

/** Why the draft can be neither planned nor deployed, or null. */
export function useHindrance(): string | null {
  const deleted = useStore(useSaver().status, ({ state }) => state === 'deleted');
  const unapplied = useEditor((state) => state.unapplied);
  const rejected = useEditor((state) => [...state.rejected.values()][0] ?? null);
  if (deleted) return 'The chain was deleted elsewhere.';
  if (unapplied !== null) return `The text is not applied: ${unapplied}`;
  return rejected && `An entry is not applied. ${rejected}`;
}
