import type { Event } from '@orrery/contract';
import { useMemo } from 'react';
import { type Quantity, quantityText } from '../format/quantity.js';
import { clockTextMs, dateTimeText } from '../format/time.js';
import type { Column } from '../table/column.js';
import { DataTable } from '../table/data-table.js';
import type { AlignedData } from './chart-data.js';
import type { ChartSeries } from './chart-series.js';
import { textsAt } from './event-marks.js';
import classes from './time-series-chart.module.css';

/** One moment: seconds, the value of each series, and what happened then. */
interface Row {
  readonly t_s: number;
  readonly values: readonly (number | null)[];
  readonly events: string;
}

const DAY_S = 86_400;

interface ChartTableProps {
  readonly title: string;
  readonly series: readonly ChartSeries[];
  readonly data: AlignedData;
  readonly events: readonly Event[];
  readonly quantity: Quantity;
  readonly height: number;
}

/** The points of a chart and what it marks, the newest first. */
export function ChartTable({ title, series, data, events, quantity, height }: ChartTableProps) {
  const [times] = data;
  // A day has each time of the clock once.
  const isLong = (times.at(-1) ?? 0) - (times[0] ?? 0) >= DAY_S;
  const rows = useMemo(() => {
    const [times, ...columns] = data;
    const texts = textsAt(times, events);
    return times
      .map((t_s, at): Row => ({ t_s, values: columns.map((column) => column[at] ?? null), events: texts[at] ?? '' }))
      .reverse();
  }, [data, events]);
  const columns = useMemo(
    (): readonly Column<Row>[] => [
      {
        id: 'time',
        title: 'Time',
        value: ({ t_s }) => t_s,
        cell: ({ t_s }) => (isLong ? dateTimeText(t_s * 1000) : clockTextMs(t_s * 1000)),
      },
      ...series.map(({ key, label }, index): Column<Row> => {
        const value = (row: Row) => row.values[index] ?? null;
        return { id: key, title: label, number: true, value, cell: (row) => quantityText(quantity, value(row)) };
      }),
      { id: 'events', title: 'Events', value: (row) => row.events },
    ],
    [series, quantity, isLong],
  );
  return (
    <div className={classes.table} style={{ height }}>
      <DataTable label={`${title}, table`} columns={columns} rows={rows} rowKey={({ t_s }) => String(t_s)} fill />
    </div>
  );
}
