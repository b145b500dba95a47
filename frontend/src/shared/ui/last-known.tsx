import type { ReactNode } from 'react';
import { useCut } from '../stream/hooks.js';

interface LastKnownProps {
  readonly children: ReactNode;
  /** What is added; empty where something beside it says so. */
  readonly word?: string;
}

/** Text about the present, e.g. counts of states: grey and *stale* while the browser is cut off from the server. */
export function LastKnown({ children, word = ', stale' }: LastKnownProps) {
  if (!useCut()) return children;
  return (
    <span className="muted">
      {children}
      {word}
    </span>
  );
}
