import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link } from 'react-router';
import { useCurrentPage } from './current-page.js';
import { useHeadingFocus } from './heading-focus.js';
import classes from './page.module.css';

export function useDocumentTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Orrery`;
  }, [title]);
}

interface PageHeaderProps {
  /** That of the page's definition, if left out. */
  readonly title?: string;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
  /** Filters and the like, in a row under the title. */
  readonly children?: ReactNode;
}

/** Title of a page, which gets the focus after navigation. */
export function PageHeader({ title: own, description, actions, children }: PageHeaderProps) {
  const page = useCurrentPage();
  const title = own ?? page?.title ?? '';
  useDocumentTitle(title);
  const heading = useHeadingFocus();
  return (
    <header className={classes.header}>
      <div className={classes.headerRow}>
        <div className={classes.headerText}>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {description && <p>{description}</p>}
        </div>
        {actions && <div className={classes.headerActions}>{actions}</div>}
      </div>
      {children && <div className={classes.headerTools}>{children}</div>}
    </header>
  );
}

/** Scrolling body of a page, under its header. */
export function PageBody({ children, flush = false }: { readonly children: ReactNode; readonly flush?: boolean }) {
  return <div className={flush ? classes.bodyFlush : classes.body}>{children}</div>;
}

/** A table that may be wider than the page; focusable while it can scroll. */
function ScrollsAside({ children }: { readonly children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const [scrolls, setScrolls] = useState(false);
  useEffect(() => {
    const element = box.current!;
    const observer = new ResizeObserver(() => setScrolls(element.scrollWidth > element.clientWidth));
    observer.observe(element);
    if (element.firstElementChild) observer.observe(element.firstElementChild);
    return () => observer.disconnect();
  });
  return (
    <div ref={box} className={classes.panelFlush} tabIndex={scrolls ? 0 : undefined}>
      {children}
    </div>
  );
}

interface PanelProps {
  readonly title?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  /** Without inner padding, for tables. */
  readonly flush?: boolean;
  readonly className?: string;
}

export function Panel({ title, actions, children, flush = false, className }: PanelProps) {
  return (
    <section className={`panel ${className ?? ''}`}>
      {title && (
        <div className={classes.panelHead}>
          <h2>{title}</h2>
          {actions && <div className={classes.headerActions}>{actions}</div>}
        </div>
      )}
      {flush ? <ScrollsAside>{children}</ScrollsAside> : <div className={classes.panelBody}>{children}</div>}
    </section>
  );
}

/** A link to another page, in a panel's header. */
export function PageLink({ to, children }: { readonly to: string; readonly children: ReactNode }) {
  return (
    <Link to={to} className={classes.pageLink}>
      {children}
    </Link>
  );
}
