import { useMemo } from 'react';
import { type Quantity, quantityText } from '../format/quantity.js';
import { clockTextMs } from '../format/time.js';
import type { Column } from '../table/column.js';
import { DataTable } from '../table/data-table.js';
import type { AlignedData } from './chart-data.js';
import type { ChartSeries } from './chart-series.js';
import classes from './time-series-chart.module.css';

/** One moment: seconds, then the value of each series. */
type Row = readonly [t_s: number, ...values: (number | null)[]];

interface ChartTableProps {
  readonly title: string;
  readonly series: readonly ChartSeries[];
  readonly data: AlignedData;
  readonly quantity: Quantity;
  readonly height: number;
}

/** The points of a chart, the newest first. */
export function ChartTable({ title, series, data, quantity, height }: ChartTableProps) {
  const rows = useMemo(() => {
    const [times, ...columns] = data;
    return times.map((t, at): Row => [t, ...columns.map((column) => column[at] ?? null)]).reverse();
  }, [data]);
  const columns = useMemo(
    (): readonly Column<Row>[] => [
      { id: 'time', title: 'Time', value: ([t]) => t, cell: ([t]) => clockTextMs(t * 1000) },
      ...series.map(({ key, label }, index): Column<Row> => {
        const value = (row: Row) => row[index + 1] ?? null;
        return { id: key, title: label, number: true, value, cell: (row) => quantityText(quantity, value(row)) };
      }),
    ],
    [series, quantity],
  );
  return (
    <div className={classes.table} style={{ height }}>
      <DataTable label={`${title}, table`} columns={columns} rows={rows} rowKey={([t]) => String(t)} fill />
    </div>
  );
}
