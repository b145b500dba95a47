import { ActionIcon, Menu, TextInput } from '@mantine/core';
import { IconColumns3, IconDownload, IconSearch } from '@tabler/icons-react';
import { download, toCsv } from '../files/csv.js';
import { countText } from '../format/number.js';
import { type Column, isSortable, sortValue } from './column.js';
import classes from './table.module.css';
import type { TableRow } from './use-table-rows.js';

interface TableToolsProps<Row> {
  readonly label: string;
  readonly filter: string;
  readonly setFilter: ((text: string) => void) | null;
  readonly columns: readonly Column<Row>[];
  /** The columns and rows that are shown, which the file holds. */
  readonly shown: { readonly columns: readonly Column<Row>[]; readonly rows: readonly TableRow<Row>[] };
  readonly total: number;
  readonly choose: (column: string, shown: boolean) => void;
}

function asCsv<Row>(columns: readonly Column<Row>[], rows: readonly TableRow<Row>[]): string {
  const exported = columns.filter(isSortable);
  return toCsv(
    exported.map(({ title }) => title),
    rows.map(({ row }) => exported.map((column) => sortValue(column, row) ?? null)),
  );
}

/** Filter, choice of columns and download of a table. */
export function TableTools<Row>({ label, filter, setFilter, columns, shown, total, choose }: TableToolsProps<Row>) {
  const file = `${label.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.csv`;
  const isShown = ({ id }: Column<Row>) => shown.columns.some((column) => column.id === id);
  return (
    <div className={classes.tools}>
      {setFilter && (
        <TextInput
          type="search"
          className={classes.filter}
          aria-label={`Filter ${label}`}
          placeholder="Filter"
          leftSection={<IconSearch size={14} aria-hidden />}
          value={filter}
          onChange={(event) => setFilter(event.currentTarget.value)}
        />
      )}
      <span className={`muted tabular ${classes.count}`} role="status">
        {shown.rows.length === total ? countText(total) : `${countText(shown.rows.length)} of ${countText(total)}`}
      </span>
      <Menu position="bottom-end" closeOnItemClick={false} width={220}>
        <Menu.Target>
          <ActionIcon aria-label={`Columns of ${label}`} title="Columns">
            <IconColumns3 size={16} stroke={1.6} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {columns
            .filter(({ untitled }) => !untitled)
            .map((column) => (
              <Menu.CheckboxItem
                key={column.id}
                checked={isShown(column)}
                disabled={isShown(column) && shown.columns.length === 1}
                onChange={(checked) => choose(column.id, checked)}
              >
                {column.title}
              </Menu.CheckboxItem>
            ))}
        </Menu.Dropdown>
      </Menu>
      <ActionIcon
        aria-label={`Download ${label} as CSV`}
        title="Download CSV"
        disabled={shown.rows.length === 0}
        onClick={() => download(file, asCsv(shown.columns, shown.rows), 'text/csv')}
      >
        <IconDownload size={16} stroke={1.6} aria-hidden />
      </ActionIcon>
    </div>
  );
}
