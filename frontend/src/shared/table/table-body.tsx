import type { RefObject } from 'react';
import { countText } from '../format/number.js';
import type { Column } from './column.js';
import type { DrawnRows } from './drawn-rows.js';
import type { DataTableProps } from './props.js';
import { RowControl } from './row-control.js';
import type { RowFocus } from './row-focus.js';
import type { TableRow } from './use-table-rows.js';

interface TableBodyProps<Row>
  extends Pick<DataTableProps<Row>, 'onSelect' | 'linkOf' | 'selectedKey' | 'dataOf' | 'cards' | 'onPoint'> {
  readonly ref: RefObject<HTMLTableSectionElement | null>;
  readonly shown: { readonly columns: readonly Column<Row>[]; readonly rows: readonly TableRow<Row>[] };
  readonly drawn: DrawnRows;
  readonly focus: RowFocus;
  /** Told when the pointer or the focus comes to the rows, and when it leaves them. */
  readonly setHeld: (held: boolean) => void;
}

function contentOf<Row>({ cell, value, number }: Column<Row>, row: Row) {
  if (cell) return cell(row);
  const shown = value?.(row) ?? <span className="muted">–</span>;
  return number && typeof shown === 'number' ? countText(shown) : shown;
}

export function TableBody<Row>(props: TableBodyProps<Row>) {
  const { ref, shown, drawn, focus, setHeld, selectedKey, dataOf } = props;
  const clickable = props.onSelect !== undefined || props.linkOf !== undefined;
  const control = Math.max(
    0,
    shown.columns.findIndex((column) => column.control),
  );
  const drawnKeys = drawn.indexes.map((index) => shown.rows[index]!.key);
  // If the Tab stop were removed from the document by scrolling, Tab could not reach the table.
  const tabStop = drawnKeys.includes(focus.tabStop ?? '') ? focus.tabStop : drawnKeys[0];
  return (
    <tbody
      ref={ref}
      onKeyDown={focus.onKeyDown}
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={({ target }) => {
        setHeld(true);
        const key = target.closest('tr')?.dataset.key;
        if (key !== undefined) focus.setStop(key);
      }}
      onBlur={() => setHeld(false)}
    >
      {drawn.above_px > 0 && <tr aria-hidden style={{ height: drawn.above_px }} />}
      {drawn.indexes.map((index) => {
        const { key, row } = shown.rows[index]!;
        return (
          <tr
            key={key}
            ref={drawn.measure}
            data-index={index}
            data-key={key}
            data-clickable={clickable || undefined}
            data-selected={clickable ? key === selectedKey : undefined}
            aria-rowindex={index + 2}
            onPointerEnter={props.onPoint && (() => props.onPoint?.(row))}
            onPointerLeave={props.onPoint && (() => props.onPoint?.(null))}
            {...dataOf?.(row)}
          >
            {shown.columns.map((column, place) => (
              <td
                key={column.id}
                className={`${column.number ? 'number' : ''} ${column.className ?? ''}`}
                data-label={props.cards && place > 0 && !column.untitled ? column.title : undefined}
              >
                {clickable && place === control ? (
                  <>
                    <RowControl
                      isTabStop={key === tabStop}
                      to={props.linkOf?.(row)}
                      isSelected={selectedKey === undefined ? undefined : key === selectedKey}
                      onSelect={() => props.onSelect?.(row)}
                    >
                      {contentOf(column, row)}
                    </RowControl>
                    {column.note?.(row)}
                  </>
                ) : (
                  contentOf(column, row)
                )}
              </td>
            ))}
          </tr>
        );
      })}
      {drawn.below_px > 0 && <tr aria-hidden style={{ height: drawn.below_px }} />}
    </tbody>
  );
}
