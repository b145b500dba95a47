import type { MantineColorScheme, MantineColorSchemeManager } from '@mantine/core';

const KEY = 'orrery.color-scheme';
const isScheme = (text: unknown): text is MantineColorScheme => text === 'auto' || text === 'light' || text === 'dark';

/** Keeps the choice where `public/color-scheme.js` finds it before the first paint, and follows other tabs. */
export function colorSchemeManager(): MantineColorSchemeManager {
  let listener: ((event: StorageEvent) => void) | null = null;
  return {
    get: (fallback) => {
      const stored = localStorage.getItem(KEY);
      return isScheme(stored) ? stored : fallback;
    },
    set: (value) => localStorage.setItem(KEY, value),
    subscribe: (onUpdate) => {
      listener = (event) => {
        if (event.key === KEY && isScheme(event.newValue)) onUpdate(event.newValue);
      };
      window.addEventListener('storage', listener);
    },
    unsubscribe: () => {
      if (listener) window.removeEventListener('storage', listener);
    },
    clear: () => localStorage.removeItem(KEY),
  };
}
