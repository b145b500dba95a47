import type { ReactNode } from 'react';
import { Link } from 'react-router';

interface RowControlProps {
  readonly onSelect?: () => void;
  readonly to?: string;
  /** Left out where choosing a row does not select it. */
  readonly isSelected?: boolean;
  /** Whether this row is the Tab stop; the others are reached with the arrow keys. */
  readonly isTabStop: boolean;
  readonly children: ReactNode;
}

/** What is clicked, focused and read out of a row that can be chosen: a button or a link whose target is the whole row. */
export function RowControl({ onSelect, to, isSelected, isTabStop, children }: RowControlProps) {
  const tabIndex = isTabStop ? 0 : -1;
  return to === undefined ? (
    <button type="button" className="row-link" tabIndex={tabIndex} aria-pressed={isSelected} onClick={onSelect}>
      {children}
    </button>
  ) : (
    <Link to={to} className="row-link" tabIndex={tabIndex}>
      {children}
    </Link>
  );
}
