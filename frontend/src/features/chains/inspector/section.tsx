import type { ReactNode } from 'react';
import classes from './inspector.module.css';

/** A titled group of fields. */
export function Section({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className={classes.section} aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}
