import { createContext, useContext } from 'react';
import type { DraftSaver } from './draft-saver.js';

export const SaverContext = createContext<DraftSaver | null>(null);

/** What keeps the server's draft equal to the canvas. */
export function useSaver(): DraftSaver {
  const saver = useContext(SaverContext);
  if (!saver) throw new Error('outside of the chain editor');
  return saver;
}
