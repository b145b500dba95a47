import { useRouteError } from 'react-router';
import { ErrorState } from '../shared/ui/states.js';

/** Shown for a page that threw; the rest of the console keeps working. */
export function RouteError() {
  const error = useRouteError();
  const gone = error instanceof TypeError && /dynamically imported module/.test(error.message);
  return (
    <ErrorState
      error={error}
      title={gone ? 'This page could not be loaded' : 'This page failed'}
      retry={() => window.location.reload()}
    />
  );
}
