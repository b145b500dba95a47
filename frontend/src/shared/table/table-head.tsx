import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import { type Column, isSortable } from './column.js';
import classes from './table.module.css';
import type { Sort } from './table-settings.js';

interface TableHeadProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly sort: Sort | null;
  readonly setSort: (sort: Sort | null) => void;
}

/** Ascending, descending, unsorted. */
function nextSort(sort: Sort | null, id: string): Sort | null {
  if (sort?.id !== id) return { id, desc: false };
  return sort.desc ? null : { id, desc: true };
}

export function TableHead<Row>({ columns, sort, setSort }: TableHeadProps<Row>) {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          const { id, title, mark, hint, number, untitled, className = '' } = column;
          const direction = sort?.id === id ? (sort.desc ? 'descending' : 'ascending') : null;
          const Arrow = direction === 'descending' ? IconArrowDown : IconArrowUp;
          return (
            <th
              key={id}
              scope="col"
              title={hint}
              className={`${number ? 'number' : ''} ${className}`}
              aria-sort={isSortable(column) ? (direction ?? 'none') : undefined}
            >
              {untitled ? (
                <span className="sr-only">{title}</span>
              ) : isSortable(column) ? (
                <button type="button" className={classes.sort} onClick={() => setSort(nextSort(sort, id))}>
                  {mark}
                  {title}
                  <Arrow size={12} aria-hidden className={classes.arrow} data-shown={direction !== null || undefined} />
                </button>
              ) : (
                title
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}
