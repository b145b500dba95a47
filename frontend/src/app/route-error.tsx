import { useEffect } from 'react';
import { useRouteError } from 'react-router';
import { ErrorState } from '../shared/ui/states.js';

/** Shown for a page that threw; the rest of the console keeps working. */
export function RouteError() {
  const error = useRouteError();
  const gone = error instanceof Error && /dynamically imported module|preload CSS|module script/.test(error.message);
  useEffect(() => {
    if (!gone) return;
    const reload = () => window.location.reload();
    window.addEventListener('online', reload);
    return () => window.removeEventListener('online', reload);
  }, [gone]);
  return (
    <ErrorState
      error={gone ? new Error('It has not been loaded before, and the server cannot be reached.') : error}
      title={gone ? 'This page could not be loaded' : 'This page failed'}
      retry={() => window.location.reload()}
    />
  );
}
