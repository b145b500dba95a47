import { useStore } from 'zustand';
import { useEditor } from '../../../shared/chain-draft/context.js';
import { useSaver } from '../../../shared/chain-draft/saver-context.js';

/** Why the draft can be neither planned nor deployed, or null. */
export function useHindrance(): string | null {
  const deleted = useStore(useSaver().status, ({ state }) => state === 'deleted');
  const unapplied = useEditor((state) => state.unapplied);
  if (deleted) return 'The chain was deleted elsewhere.';
  return unapplied && `The text is not applied: ${unapplied}`;
}
