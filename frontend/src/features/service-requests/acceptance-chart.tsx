import type { BulkAnswer } from '@orrery/contract';
import classes from './service-requests.module.css';

const MOST_BARS = 100;
const HEIGHT = 60;

interface Bar {
  readonly from: number;
  readonly to: number;
  /** 0 to 1. */
  readonly accepted: number;
}

/** Share of accepted requests, in the order in which they were decided. */
export function acceptanceBars(results: BulkAnswer['results']): Bar[] {
  const count = Math.min(MOST_BARS, results.length);
  return Array.from({ length: count }, (_, i) => {
    const [from, to] = [i, i + 1].map((n) => Math.round((n * results.length) / count)) as [number, number];
    const accepted = results.slice(from, to).filter(({ why }) => why === null).length;
    return { from, to, accepted: accepted / (to - from) };
  });
}

export function AcceptanceChart({ results }: Pick<BulkAnswer, 'results'>) {
  const bars = acceptanceBars(results);
  const accepted = results.filter(({ why }) => why === null).length;
  return (
    <figure className={classes.chart}>
      <svg
        role="img"
        viewBox={`0 0 ${bars.length} ${HEIGHT}`}
        preserveAspectRatio="none"
        aria-label={`${accepted} of ${results.length} requests are accepted`}
      >
        {bars.map(({ from, to, accepted: share }) => (
          <g key={from}>
            <title>{`Requests ${from + 1} to ${to}: ${Math.round(100 * share)} % accepted`}</title>
            <rect className={classes.refused} x={bars.length * (from / results.length)} width={0.9} height={HEIGHT} />
            <rect
              className={classes.accepted}
              x={bars.length * (from / results.length)}
              y={HEIGHT * (1 - share)}
              width={0.9}
              height={HEIGHT * share}
            />
          </g>
        ))}
      </svg>
      <figcaption className="muted">Accepted, from the first request to the last</figcaption>
    </figure>
  );
}
