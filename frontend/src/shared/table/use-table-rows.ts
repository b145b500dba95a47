import {
  columnFilteringFeature,
  columnVisibilityFeature,
  createFilteredRowModel,
  createSortedRowModel,
  globalFilteringFeature,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { useMemo } from 'react';
import { useSamples } from '../stream/hooks.js';
import { type Column, isSortable, sortValue } from './column.js';
import { useHeldOrder } from './held-order.js';
import type { TableSettings } from './table-settings.js';

const features = tableFeatures({
  columnFilteringFeature,
  columnVisibilityFeature,
  globalFilteringFeature,
  rowSortingFeature,
  filteredRowModel: createFilteredRowModel(),
  sortedRowModel: createSortedRowModel(),
});

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

export function compareValues(a: unknown, b: unknown): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b));
}

interface TableInput<Row> extends Pick<TableSettings, 'filter' | 'sort'> {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  readonly chosen: Readonly<Record<string, boolean>>;
  /** Whether rows keep their order while their values change. */
  readonly held: boolean;
}

export interface TableRow<Row> {
  readonly key: string;
  readonly row: Row;
}

/** Rows as they are shown, filtered and sorted, and the columns that are shown. */
export function useTableRows<Row>({ columns, rows, rowKey, chosen, held, filter, sort }: TableInput<Row>) {
  const sorting = columns.find(({ id }) => id === sort?.id);
  // A render, and another order, for each new value of the column that is sorted by.
  const sampled = rows.flatMap((row) => sorting?.sampleKey?.(row) ?? []);
  const values = useSamples(sampled, (samples) => samples.map(({ value }) => value).join());
  // biome-ignore lint/correctness/useExhaustiveDependencies: other samples make other rows to sort
  const data = useMemo(() => rows.map((row): TableRow<Row> => ({ key: rowKey(row), row })), [rows, values]);
  const definitions = useMemo(
    () =>
      columns.map((column) => ({
        id: column.id,
        accessorFn: ({ row }: TableRow<Row>) => sortValue(column, row),
        enableSorting: isSortable(column),
        sortUndefined: 'last' as const,
        sortFn: (a: { getValue(id: string): unknown }, b: { getValue(id: string): unknown }, id: string) =>
          compareValues(a.getValue(id), b.getValue(id)),
      })),
    [columns],
  );
  const columnVisibility = useMemo(
    () => Object.fromEntries(columns.map(({ id, hidden = false }) => [id, chosen[id] ?? !hidden])),
    [columns, chosen],
  );
  const table = useTable({
    features,
    columns: definitions,
    data,
    getRowId: ({ key }) => key,
    state: {
      globalFilter: filter.trim().toLowerCase(),
      sorting: sorting && sort ? [{ id: sorting.id, desc: sort.desc }] : [],
      columnVisibility,
    },
    getColumnCanGlobalFilter: () => true,
    globalFilterFn: (row, id, wanted: string) => {
      const value = row.getValue(id);
      return typeof value === 'string' && value.toLowerCase().includes(wanted);
    },
  });
  const model = table.getRowModel();
  const order = useHeldOrder(
    model.rows.map(({ id }) => id),
    held && sorting !== undefined,
    `${sort?.desc} ${sort?.id} ${filter}`,
  );
  const shownRows = order.map((key) => model.rowsById[key]!.original);
  const shownIds = new Set(table.getVisibleLeafColumns().map(({ id }) => id));
  return { rows: shownRows, columns: columns.filter(({ id }) => shownIds.has(id)) };
}
