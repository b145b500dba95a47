import type { ReactNode } from 'react';
import type { Column } from '../table/column.js';
import { DataTable } from '../table/data-table.js';
import classes from './bar-table.module.css';

export interface BarPart {
  readonly name: string;
  readonly value: number;
  readonly text: string;
}

export interface BarRow {
  readonly id: string;
  readonly label: ReactNode;
  /** One after the other on the same bar, in the same order in every row. */
  readonly parts: readonly BarPart[];
  /** Highlighted: what the plan uses. */
  readonly chosen?: boolean;
}

interface BarTableProps {
  readonly label: string;
  readonly head: string;
  readonly rows: readonly BarRow[];
}

/** Figures with a bar for each row, all on one scale. With several parts the bars are stacked and the head is the legend. */
export function BarTable({ label, head, rows }: BarTableProps) {
  const most = Math.max(...rows.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0)), 0);
  const names = rows[0]?.parts.map(({ name }) => name) ?? [];
  const columns: readonly Column<BarRow>[] = [
    { id: 'row', title: head, cell: ({ label: name }) => name },
    ...names.map(
      (name, index): Column<BarRow> => ({
        id: name,
        title: name,
        mark: names.length > 1 ? <span className={classes.key} data-part={index} aria-hidden /> : undefined,
        number: true,
        value: ({ parts }) => parts[index]?.value,
        cell: ({ parts }) => parts[index]?.text,
      }),
    ),
    {
      id: 'bar',
      title: 'Bar',
      untitled: true,
      className: classes.barCell,
      cell: ({ parts }) => <Bar {...{ parts, most }} />,
    },
  ];
  return (
    <DataTable
      label={label}
      className={classes.bars}
      columns={columns}
      rows={rows}
      rowKey={({ id }) => id}
      dataOf={({ chosen }) => ({ 'data-selected': chosen || undefined })}
    />
  );
}

function Bar({ parts, most }: Pick<BarRow, 'parts'> & { readonly most: number }) {
  return (
    <span className={classes.stack} aria-hidden>
      {parts.map((part, index) => (
        <span key={part.name} data-part={index} style={{ width: `${most > 0 ? (part.value / most) * 100 : 0}%` }} />
      ))}
    </span>
  );
}
