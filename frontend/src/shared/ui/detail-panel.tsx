import { ActionIcon } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { type ReactNode, useEffect, useRef } from 'react';
import classes from './detail-panel.module.css';
import { useFocusReturn } from './focus-return.js';

/** Page content with room for a detail panel at its side, over it where the window is narrow. */
export function WithDetail({ children, detail }: { readonly children: ReactNode; readonly detail: ReactNode }) {
  return (
    <div className={classes.split}>
      <div className={classes.content}>{children}</div>
      {detail}
    </div>
  );
}

interface DetailPanelProps {
  readonly title: ReactNode;
  readonly label: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** Details of the selected element. Gets the focus when it opens; Escape closes it and returns the focus. */
export function DetailPanel({ title, label, onClose, children }: DetailPanelProps) {
  const panel = useRef<HTMLElement>(null);
  useFocusReturn();
  useEffect(() => {
    panel.current?.focus({ preventScroll: true });
  }, []);
  return (
    <aside
      ref={panel}
      className={classes.panel}
      aria-label={label}
      tabIndex={-1}
      onKeyDown={(event) => {
        // Of a dialog above it, which closes by itself, events come here as well.
        const dialog = (event.target as Element).closest('[role="dialog"]');
        const isAbove = dialog !== null && !dialog.contains(panel.current);
        if (event.key !== 'Escape' || event.defaultPrevented || isAbove) return;
        event.preventDefault();
        onClose();
      }}
    >
      <div className={classes.head}>
        <h2>{title}</h2>
        <ActionIcon aria-label="Close details" onClick={onClose}>
          <IconX size={16} />
        </ActionIcon>
      </div>
      <div className={classes.body}>{children}</div>
    </aside>
  );
}

/** Names and values in two columns; no two have the same name. */
export function Facts({ items }: { readonly items: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className={classes.facts}>
      {items.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function DetailSection({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className={classes.section}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}
