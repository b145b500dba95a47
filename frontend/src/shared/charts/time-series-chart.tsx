import { ActionIcon, Tooltip } from '@mantine/core';
import { IconChartLine, IconDownload, IconTable } from '@tabler/icons-react';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { type Quantity, quantityText } from '../format/quantity.js';
import { clockTextMs } from '../format/time.js';
import { seriesColor, usePalette } from '../theme/palette.js';
import { EmulatedMark } from '../ui/emulated-mark.js';
import { RateText } from '../ui/rate-text.js';
import { type AlignedData, useChartData } from './chart-data.js';
import { download, toCsv } from './csv.js';
import type { ChartBand, ChartLevel } from './marks.js';
import type { TimeRange } from './time-range.js';
import classes from './time-series-chart.module.css';

const Plot = lazy(() => import('./plot.js'));
const TABLE_ROWS = 200;

export interface ChartSeries {
  /** Sample key, e.g. `instance/demo.ids.0/pps`. */
  readonly key: string;
  readonly label: string;
  readonly dashed?: boolean;
}

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
}

function lastIndex(data: AlignedData): number {
  return data[0].length - 1;
}

/** Value of a series at or before an index of the shared axis. */
function valueAt(column: readonly (number | null)[] | undefined, index: number): number | null {
  for (let at = index; column && at >= 0 && at > index - 20; at--) {
    const value = column[at];
    if (value !== null && value !== undefined) return value;
  }
  return null;
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
  const { keepS, emulated = false, note } = props;
  const [table, setTable] = useState(false);
  const [cursor, setCursor] = useState<number | null>(null);
  const palette = usePalette();
  const { data, error } = useChartData(
    series.map(({ key }) => key),
    windowS,
    keepS,
  );
  const [times, ...columns] = data;
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
      <ul className={classes.legend}>
        {series.map(({ key, label }, index) => (
          <li key={key}>
            <svg width="16" height="8" aria-hidden="true">
              <line
                x1="0"
                x2="16"
                y1="4"
                y2="4"
                stroke={seriesColor(palette, index)}
                strokeWidth="2"
                strokeDasharray={[undefined, '6 3', '2 2', '8 3 2 3', '12 4', '4 6'][index % 6]}
              />
            </svg>
            <span>{label}</span>
            <RateText quantity={quantity} value={valueAt(columns[index], at)} />
            <LevelsOf levels={levels?.filter((level) => level.series === index) ?? []} quantity={quantity} />
          </li>
        ))}
      </ul>
      {table ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <section className={classes.table} style={{ height }} tabIndex={0} aria-label={`${title}, table`}>
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Time</th>
                {series.map(({ key, label }) => (
                  <th key={key} scope="col" className="number">
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.slice(-TABLE_ROWS).map((_, offset, { length }) => {
                const row = times.length - 1 - offset;
                return length === 0 ? null : (
                  <tr key={times[row]}>
                    <td>{clockTextMs(times[row]! * 1000)}</td>
                    {columns.map((column, index) => (
                      <td key={series[index]!.key} className="number">
                        <RateText quantity={quantity} value={column[row]} />
                      </td>
                    ))}
                  </tr>
                );
              })}
            </tbody>
          </table>
        </section>
      ) : (
        <div className={classes.plot} style={{ height }}>
          {times.length === 0 && (
            <span className={classes.empty}>
              {error ? 'No history, and nothing measured yet' : 'Nothing measured yet'}
            </span>
          )}
          <Suspense fallback={null}>
            <Plot
              series={series}
              data={data}
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

/** Levels of one series, which a narrow plot has no room to name. */
function LevelsOf({ levels, quantity }: { readonly levels: readonly ChartLevel[]; readonly quantity: Quantity }) {
  if (levels.length === 0) return null;
  return (
    <span className={`${classes.levels} tabular`}>
      {levels.map(({ sign, value }) => `${sign} ${quantityText(quantity, value)}`).join(', ')}
    </span>
  );
}
