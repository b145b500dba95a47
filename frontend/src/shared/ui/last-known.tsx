import type { ReactNode } from 'react';
import { useCut } from '../stream/hooks.js';

/** Text about the present, e.g. counts of states: grey and *stale* while the browser is cut off from the server. */
export function LastKnown({ children }: { readonly children: ReactNode }) {
  if (!useCut()) return children;
  return <span className="muted">{children}, stale</span>;
}
