import { ActionIcon, Tooltip } from '@mantine/core';
import { IconChartLine, IconDownload, IconTable } from '@tabler/icons-react';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { download, toCsv } from '../files/csv.js';
import type { Quantity } from '../format/quantity.js';
import { clockText, clockTextMs } from '../format/time.js';
import { useMonotonicNow } from '../stream/clock.js';
import { EmulatedMark } from '../ui/emulated-mark.js';
import { type AlignedData, silentSinceMs, useChartData, valueAt } from './chart-data.js';
import { ChartLegend } from './chart-legend.js';
import type { ChartSeries } from './chart-series.js';
import { ChartTable } from './chart-table.js';
import type { ChartBand, ChartLevel } from './marks.js';
import type { TimeRange } from './time-range.js';
import classes from './time-series-chart.module.css';

const Plot = lazy(() => import('./plot.js'));

interface TimeSeriesChartProps {
  readonly title: string;
  readonly quantity: Quantity;
  readonly series: readonly ChartSeries[];
  readonly windowS?: number;
  readonly height?: number;
  readonly threshold?: number;
  readonly levels?: readonly ChartLevel[];
  readonly bands?: readonly ChartBand[];
  /** The axis, where other things share it; absent: `windowS` until the newest point. */
  readonly range?: TimeRange;
  /** How long points are kept, so that a wider window has them at once; absent: `windowS`. */
  readonly keepS?: number;
  readonly emulated?: boolean;
  readonly note?: ReactNode;
  /** What is missing while nothing is measured: "No packets". */
  readonly silence?: string;
}

function lastIndex(data: AlignedData): number {
  return data[0].length - 1;
}

function save(title: string, series: readonly ChartSeries[], data: AlignedData): void {
  const [times, ...columns] = data;
  const rows = times.map((t, row) => [
    new Date(t * 1000).toISOString(),
    ...columns.map((column) => column[row] ?? null),
  ]);
  const name = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  download(`${name}.csv`, toCsv(['time', ...series.map(({ key }) => key)], rows), 'text/csv');
}

/** Live series with a crosshair shared by all charts of the page, the same figures as a table, and as a file. */
export function TimeSeriesChart(props: TimeSeriesChartProps) {
  const { title, quantity, series, windowS = 120, height = 140, threshold, levels, bands, range } = props;
  const { keepS, emulated = false, note, silence = 'Nothing measured' } = props;
  const [table, setTable] = useState(false);
  const [cursor, setCursor] = useState<number | null>(null);
  const { data, ahead_ms, error } = useChartData(
    series.map(({ key }) => key),
    windowS,
    keepS,
  );
  const [times] = data;
  const silent_ms = silentSinceMs(data, useMonotonicNow() - ahead_ms);
  const at = cursor !== null && cursor <= lastIndex(data) ? cursor : lastIndex(data);
  const atTime = times[at];

  return (
    <figure className={classes.chart} aria-label={title}>
      <figcaption className={classes.head}>
        <span className={classes.title}>{title}</span>
        {emulated && <EmulatedMark />}
        <span className={`${classes.time} tabular`}>
          {cursor === null || atTime === undefined ? '' : clockTextMs(atTime * 1000)}
        </span>
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
            <ActionIcon size="sm" aria-label={`${title}: download CSV`} onClick={() => save(title, series, data)}>
              <IconDownload size={14} />
            </ActionIcon>
          </Tooltip>
        </span>
      </figcaption>
      <ChartLegend
        series={series}
        quantity={quantity}
        values={series.map((_, index) => (cursor === null && silent_ms !== null ? null : valueAt(data, index, at)))}
        levels={levels ?? []}
      />
      {table ? (
        <ChartTable title={title} series={series} data={data} quantity={quantity} height={height} />
      ) : (
        <div className={classes.plot} style={{ height }}>
          {times.length === 0 && (
            <span className={classes.empty}>{error ? 'No data yet' : 'Nothing measured yet'}</span>
          )}
          {times.length > 0 && silent_ms !== null && (
            <span className={classes.silence} role="status">
              {silence} since {clockText(silent_ms)}
            </span>
          )}
          <Suspense fallback={null}>
            <Plot
              series={series}
              data={data}
              ahead_ms={ahead_ms}
              quantity={quantity}
              height={height}
              windowS={windowS}
              threshold={threshold}
              levels={levels}
              bands={bands}
              range={range}
              onCursor={setCursor}
            />
          </Suspense>
        </div>
      )}
      {note && <p className={classes.note}>{note}</p>}
    </figure>
  );
}
