import { lazy, type ReactNode, Suspense, useMemo, useState } from 'react';
import type { Quantity } from '../format/quantity.js';
import { clockText, clockTextMs } from '../format/time.js';
import { useMonotonicNow } from '../stream/clock.js';
import { type AlignedData, sharesOf, silentSinceMs, useChartData, valueAt } from './chart-data.js';
import { ChartFrame } from './chart-frame.js';
import { ChartLegend } from './chart-legend.js';
import { useParts } from './chart-parts.js';
import type { ChartSeries } from './chart-series.js';
import { useMarkedEvents } from './event-marks.js';
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
  /** What stands there while there is no point at all. */
  readonly nothing?: string;
}

function lastIndex(data: AlignedData): number {
  return data[0].length - 1;
}

/** Live series with a crosshair shared by all charts of the page, the same figures as a table, and as a file. */
export function TimeSeriesChart(props: TimeSeriesChartProps) {
  const { title, quantity, series, windowS = 120, height = 140, threshold, levels, bands, range } = props;
  const { keepS, emulated = false, note, silence = 'Nothing measured' } = props;
  const { nothing = 'Nothing measured yet' } = props;
  const [cursor, setCursor] = useState<number | null>(null);
  const keys = series.map(({ key }) => key);
  const { data: measured, ahead_ms, error } = useChartData(keys, windowS, keepS);
  const full = series.map((each) => each.full ?? 1).join(' ');
  const data = useMemo(() => sharesOf(measured, full.split(' ').map(Number)), [measured, full]);
  const marked = useMarkedEvents(windowS, useParts(keys), range?.from_s);
  const [times] = data;
  const silent_ms = silentSinceMs(data, useMonotonicNow() - ahead_ms);
  const at = cursor !== null && cursor <= lastIndex(data) ? cursor : lastIndex(data);
  const atTime = times[at];

  return (
    <ChartFrame
      title={title}
      quantity={quantity}
      series={series}
      data={data}
      height={height}
      marked={marked}
      emulated={emulated}
      time={cursor === null || atTime === undefined ? '' : clockTextMs(atTime * 1000)}
      legend={
        <ChartLegend
          series={series}
          quantity={quantity}
          values={series.map((_, index) => (cursor === null && silent_ms !== null ? null : valueAt(data, index, at)))}
          levels={levels ?? []}
        />
      }
      note={note}
    >
      <div className={classes.plot} style={{ height }}>
        {times.length === 0 && <span className={classes.empty}>{error ? 'No data yet' : nothing}</span>}
        {times.length > 0 && silent_ms !== null && (
          <span className={classes.silence} role="status">
            {silence} since {clockText(silent_ms)}
          </span>
        )}
        <Suspense fallback={null}>
          <Plot
            title={title}
            events={marked.events}
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
    </ChartFrame>
  );
}
