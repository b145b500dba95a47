import type { ReactNode } from 'react';
import { live } from '../stream/stream.js';

/** A column of a `DataTable`: what it shows, and the value for sorting, filtering and export. */
export interface Column<Row> {
  readonly id: string;
  readonly title: string;
  /** Before the title, e.g. the colour of a legend. */
  readonly mark?: ReactNode;
  /** Tooltip of the title. */
  readonly hint?: string;
  /** Sorts and exports; a text is filtered by, too. A column without it is only shown. */
  readonly value?: (row: Row) => string | number | null | undefined;
  /** What is shown; the value itself if left out. */
  readonly cell?: (row: Row) => ReactNode;
  /** Shown after the control of a row that can be chosen; for the column with the control. */
  readonly note?: (row: Row) => ReactNode;
  /** Holds the control of a row that can be chosen; the first column if none says so. */
  readonly control?: boolean;
  /** Its value is the newest sample of this key, which changes while the table is on the screen. */
  readonly sampleKey?: (row: Row) => string | null;
  /** Right-aligned, in tabular figures. */
  readonly number?: boolean;
  /** Its title is for screen readers only, e.g. of a column of buttons. */
  readonly untitled?: boolean;
  readonly className?: string;
  /** Hidden by default. */
  readonly hidden?: boolean;
}

/** The value of a row for sorting and export; undefined sorts last. */
export function sortValue<Row>(column: Column<Row>, row: Row): string | number | undefined {
  const key = column.sampleKey?.(row);
  if (key) return live.sample(key)?.value;
  return column.value?.(row) ?? undefined;
}

export const isSortable = <Row>({ value, sampleKey }: Column<Row>): boolean => Boolean(value ?? sampleKey);
