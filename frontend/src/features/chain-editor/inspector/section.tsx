import type { ReactNode } from 'react';
import classes from './inspector.module.css';

interface SectionProps {
  readonly title: string;
  /** On the right of the title. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A titled group of fields. */
export function Section({ title, actions, children }: SectionProps) {
  return (
    <section className={classes.section} aria-label={title}>
      <div className={classes.sectionHead}>
        <h3>{title}</h3>
        {actions}
      </div>
      {children}
    </section>
  );
}
