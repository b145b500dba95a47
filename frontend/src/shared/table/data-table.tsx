import { useEffect, useMemo, useRef, useState } from 'react';
import { EmptyState, QueryBoundary } from '../ui/states.js';
import { useBoxSize } from './box-size.js';
import { useDrawnRows } from './drawn-rows.js';
import type { DataTableProps } from './props.js';
import { useRowFocus } from './row-focus.js';
import classes from './table.module.css';
import { TableBody } from './table-body.js';
import { TableHead } from './table-head.js';
import { useChosenColumns, useLocalSettings } from './table-settings.js';
import { TableTools } from './table-tools.js';
import { useTableRows } from './use-table-rows.js';

const NEAR_END_ROWS = 30;

/** A table that can be sorted, filtered, navigated by mouse and keyboard, and downloaded. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { query, rows, empty } = props;
  const table = rows.length === 0 && empty !== undefined ? empty : <FilledTable {...props} />;
  return query ? <QueryBoundary query={query}>{table}</QueryBoundary> : table;
}

function FilledTable<Row>(props: DataTableProps<Row>) {
  const { label, columns, rows, rowKey, cards, fill, footer, onNearEnd, onScrolled, className = '' } = props;
  const local = useLocalSettings();
  const { filter, setFilter, sort, setSort } = props.settings ?? local;
  const [chosen, choose] = useChosenColumns(label);
  const [held, setHeld] = useState(false);
  const shown = useTableRows({ columns, rows, rowKey, chosen: props.settings ? chosen : {}, held, filter, sort });
  const keys = useMemo(() => shown.rows.map(({ key }) => key), [shown.rows]);
  const ownBox = useRef<HTMLDivElement>(null);
  const box = props.box ?? ownBox;
  const body = useRef<HTMLTableSectionElement>(null);
  const drawn = useDrawnRows(box, keys);
  const focus = useRowFocus(body, keys, drawn.reveal);
  const { scrolls, width_px } = useBoxSize(box);
  const narrow = cards !== undefined && width_px < cards;
  const nearEnd = (drawn.indexes.at(-1) ?? 0) > keys.length - NEAR_END_ROWS;
  useEffect(() => {
    if (nearEnd) onNearEnd?.();
  }, [nearEnd, onNearEnd]);
  return (
    <div
      data-table
      className={`${classes.frame} ${className}`}
      data-fill={fill || undefined}
      data-cards={narrow || undefined}
    >
      {props.settings && <TableTools {...{ label, columns, shown, choose, filter, setFilter }} total={rows.length} />}
      <div
        ref={box}
        className={classes.box}
        data-long={drawn.measure !== undefined || undefined}
        tabIndex={scrolls ? 0 : undefined}
        onScroll={onScrolled && ((event) => onScrolled(event.currentTarget.scrollTop > 16))}
      >
        <table className={`table ${classes.table}`} aria-rowcount={keys.length + 1}>
          <caption className="sr-only">{label}</caption>
          <TableHead columns={shown.columns} sort={sort} setSort={setSort} />
          <TableBody {...props} ref={body} shown={shown} drawn={drawn} focus={focus} setHeld={setHeld} />
        </table>
        {keys.length === 0 && <EmptyState title={`Nothing matches “${filter}”`} />}
        {footer}
      </div>
    </div>
  );
}
