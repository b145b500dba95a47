import { useStore } from 'zustand';
import { useSaver } from './saver-context.js';

/** Why what is on the screen can be neither planned nor deployed, or null. */
export function useHindrance(): string | null {
  const deleted = useStore(useSaver().status, ({ state }) => state === 'deleted');
  return deleted ? 'The chain was deleted elsewhere.' : null;
}
