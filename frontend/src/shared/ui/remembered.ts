import { useCallback, useState } from 'react';

function stored(key: string, initial: boolean): boolean {
  try {
    const text = localStorage.getItem(key);
    return text === null ? initial : text === 'true';
  } catch {
    return initial;
  }
}

/** A choice that this browser remembers, and a function that turns it over. */
export function useRemembered(name: string, initial: boolean): [boolean, () => void] {
  const key = `orrery.${name}`;
  const [value, setValue] = useState(() => stored(key, initial));
  const toggle = useCallback(
    () =>
      setValue((before) => {
        try {
          localStorage.setItem(key, String(!before));
        } catch {
          // A browser without storage forgets the choice when the page is left.
        }
        return !before;
      }),
    [key],
  );
  return [value, toggle];
}
