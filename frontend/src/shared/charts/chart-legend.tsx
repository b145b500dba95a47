import { type Quantity, quantityText } from '../format/quantity.js';
import { seriesColor, usePalette } from '../theme/palette.js';
import { RateText } from '../ui/rate-text.js';
import type { ChartSeries } from './chart-series.js';
import type { ChartLevel } from './marks.js';
import classes from './time-series-chart.module.css';

const DASHES = [undefined, '6 3', '2 2', '8 3 2 3', '12 4', '4 6'];

interface ChartLegendProps {
  readonly series: readonly ChartSeries[];
  readonly quantity: Quantity;
  /** Of each series, at the crosshair or the newest. */
  readonly values: readonly (number | null)[];
  readonly levels: readonly ChartLevel[];
}

/** Name, line and value of each series. */
export function ChartLegend({ series, quantity, values, levels }: ChartLegendProps) {
  const palette = usePalette();
  const ofAll = levels.filter((level) => level.series === null);
  return (
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
              strokeDasharray={DASHES[index % DASHES.length]}
            />
          </svg>
          <span>{label}</span>
          <RateText quantity={quantity} value={values[index]} />
          <LevelsOf levels={levels.filter((level) => level.series === index)} quantity={quantity} />
        </li>
      ))}
      {ofAll.length > 0 && (
        <li>
          <LevelsOf levels={ofAll} quantity={quantity} />
        </li>
      )}
    </ul>
  );
}

/** Levels that a narrow plot has no room to label. */
function LevelsOf({ levels, quantity }: { readonly levels: readonly ChartLevel[]; readonly quantity: Quantity }) {
  if (levels.length === 0) return null;
  return (
    <span className={`${classes.levels} tabular`}>
      {levels.map(({ sign, value }) => `${sign} ${quantityText(quantity, value)}`).join(', ')}
    </span>
  );
}
