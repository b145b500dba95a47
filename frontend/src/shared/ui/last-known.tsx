import type { ReactNode } from 'react';
import { useCut } from '../stream/hooks.js';
import classes from './last-known.module.css';

interface LastKnownProps {
  readonly children: ReactNode;
  /** What is added; empty where something beside it says so. */
  readonly word?: string;
  /** What is told is no longer known to be so: struck through, as figures are. */
  readonly isOld?: boolean;
}

/** Text about the present, e.g. counts of states: grey and *stale* while the browser is cut off from the server. */
export function LastKnown({ children, word = ', stale', isOld = false }: LastKnownProps) {
  const isCut = useCut();
  if (isOld)
    return (
      <span className={classes.old} data-stale title="As last reported">
        {children}
        <span className="sr-only">, as last reported</span>
      </span>
    );
  if (!isCut) return children;
  return (
    <span className="muted">
      {children}
      {word}
    </span>
  );
}
