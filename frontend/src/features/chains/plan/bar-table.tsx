import type { ReactNode } from 'react';
import classes from './plan.module.css';

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
  /** Stands out: what the plan takes. */
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
  return (
    <table className={`table ${classes.bars}`} aria-label={label}>
      <thead>
        <tr>
          <th>{head}</th>
          {names.map((name, index) => (
            <th key={name} className="number">
              {names.length > 1 && <span className={classes.key} data-part={index} aria-hidden />} {name}
            </th>
          ))}
          <th className={classes.barCell}>
            <span className="sr-only">Bar</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ id, label: name, parts, chosen }) => (
          <tr key={id} data-selected={chosen || undefined}>
            <td>{name}</td>
            {parts.map((part) => (
              <td key={part.name} className="number">
                {part.text}
              </td>
            ))}
            <td className={classes.barCell} aria-hidden>
              <span className={classes.stack}>
                {parts.map((part, index) => (
                  <span
                    key={part.name}
                    data-part={index}
                    style={{ width: `${most > 0 ? (part.value / most) * 100 : 0}%` }}
                  />
                ))}
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
