import { createContext, useContext } from 'react';
import type { PageDefinition } from './definition.js';

const CurrentPage = createContext<PageDefinition | null>(null);

export const CurrentPageProvider = CurrentPage.Provider;

/** The page that is open; null outside of one. */
export function useCurrentPage(): PageDefinition | null {
  return useContext(CurrentPage);
}
