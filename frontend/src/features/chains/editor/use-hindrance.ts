import { useStore } from 'zustand';
import { useEditor } from './context.js';
import { useSaver } from './saver-context.js';

/** Why what is on the screen can be neither planned nor deployed, or null. */
export function useHindrance(): string | null {
  const deleted = useStore(useSaver().status, ({ state }) => state === 'deleted');
  const unapplied = useEditor((state) => state.unapplied);
  if (deleted) return 'The chain was deleted elsewhere.';
  return unapplied && `The text is not applied: ${unapplied}`;
}
