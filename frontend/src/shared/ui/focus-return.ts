import { useEffect, useState } from 'react';

/**
 * Gives the focus back, when the component is removed, to the element that had it before the component appeared; not
 * if the user has put it elsewhere.
 */
export function useFocusReturn(): void {
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      const free = document.activeElement === null || document.activeElement === document.body;
      if (free && before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    },
    [before],
  );
}
