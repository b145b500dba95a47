import { ActionIcon, Tooltip } from '@mantine/core';
import type { Event } from '@orrery/contract';
import { IconChartLine, IconDownload, IconTable } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { download, toCsv } from '../files/csv.js';
import type { Quantity } from '../format/quantity.js';
import { dateTimeText } from '../format/time.js';
import { EmulatedMark } from '../ui/emulated-mark.js';
import type { AlignedData } from './chart-data.js';
import type { ChartSeries } from './chart-series.js';
import { ChartTable } from './chart-table.js';
import { type MarkedEvents, textsAt } from './event-marks.js';
import classes from './time-series-chart.module.css';

interface ChartFrameProps {
  readonly title: string;
  readonly quantity: Quantity;
  readonly series: readonly ChartSeries[];
  readonly data: AlignedData;
  readonly height: number;
  readonly marked: MarkedEvents;
  readonly emulated?: boolean;
  /** At the crosshair. */
  readonly time?: string;
  readonly legend?: ReactNode;
  readonly note?: ReactNode;
  /** The plot. */
  readonly children: ReactNode;
}

function save(title: string, series: readonly ChartSeries[], data: AlignedData, events: readonly Event[]): void {
  const [times, ...columns] = data;
  const texts = textsAt(times, events);
  const rows = times.map((t, row) => [
    new Date(t * 1000).toISOString(),
    ...columns.map((column) => column[row] ?? null),
    texts[row] ?? null,
  ]);
  const name = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  const titles = series.map(({ key, full }) => (full === undefined ? key : `${key} / ${full}`));
  download(`${name}.csv`, toCsv(['time', ...titles, 'events'], rows), 'text/csv');
}

/** A chart with its title, the same figures and events as a table, and as a file. */
export function ChartFrame(props: ChartFrameProps) {
  const { title, quantity, series, data, height, marked, emulated = false, time = '', legend, note, children } = props;
  const [table, setTable] = useState(false);
  const { events, since_ms } = marked;
  return (
    <figure className={classes.chart} aria-label={title}>
      <figcaption className={classes.head}>
        <span className={classes.title}>{title}</span>
        {emulated && <EmulatedMark />}
        <span className={`${classes.time} tabular`}>{time}</span>
        <span className={classes.tools}>
          <Tooltip label={table ? 'Show the chart' : 'Show as a table'}>
            <ActionIcon
              size="sm"
              aria-label={`${title}: ${table ? 'chart' : 'table'}`}
              onClick={() => setTable(!table)}
            >
              {table ? <IconChartLine size={14} /> : <IconTable size={14} />}
            </ActionIcon>
          </Tooltip>
          <Tooltip label="Download CSV">
            <ActionIcon
              size="sm"
              aria-label={`${title}: download CSV`}
              onClick={() => save(title, series, data, events)}
            >
              <IconDownload size={14} />
            </ActionIcon>
          </Tooltip>
        </span>
      </figcaption>
      {legend}
      {table ? (
        <ChartTable title={title} series={series} data={data} events={events} quantity={quantity} height={height} />
      ) : (
        children
      )}
      {since_ms !== null && <p className={classes.note}>Events before {dateTimeText(since_ms)} are not marked.</p>}
      {note && <p className={classes.note}>{note}</p>}
    </figure>
  );
}
