import { type RefObject, useEffect, useRef, useState } from 'react';
import { useLocation } from 'react-router';

/**
 * The heading of a page, for its `ref`. It gets the focus after navigation, so that a screen reader announces the page;
 * the first page of a visit leaves the focus where the browser puts it. The heading needs `tabIndex={-1}`.
 */
export function useHeadingFocus(): RefObject<HTMLHeadingElement | null> {
  const heading = useRef<HTMLHeadingElement>(null);
  const { key } = useLocation();
  // As the page appears: a change of its filters is no navigation.
  const [navigated] = useState(key !== 'default');
  useEffect(() => {
    if (navigated) heading.current?.focus({ preventScroll: true });
  }, [navigated]);
  return heading;
}
