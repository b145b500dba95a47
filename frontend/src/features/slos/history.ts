import type { SloHistory } from '@orrery/contract';
import type { AlignedData } from '../../shared/charts/chart-data.js';

/** Ranges of the history that can be chosen, in seconds. */
export const RANGES = [
  { value: '3600', label: '1 h' },
  { value: '21600', label: '6 h' },
  { value: '604800', label: '7 d' },
  { value: '2592000', label: '30 d' },
] as const;

type Point = SloHistory['points'][number];

/** Figures over time, as charts take them: at the end of each step, or now where it is not over; none before seconds were counted. */
export function columnsOf(
  { points, step_s, since_ms, to_ms }: Pick<SloHistory, 'points' | 'step_s' | 'since_ms' | 'to_ms'>,
  ...figures: readonly ((point: Point) => number | null)[]
): AlignedData {
  const ends = points.map(({ t_ms }) => Math.min(t_ms / 1000 + step_s, to_ms / 1000));
  const column = (figure: (point: Point) => number | null) =>
    points.map((point, at) => (1000 * ends[at]! <= since_ms ? null : figure(point)));
  return [ends, ...figures.map(column)];
}

/** Whether anything is known of the objective in this time. */
export function isKnown({ points }: SloHistory): boolean {
  return points.some(({ good_s, bad_s }) => good_s + bad_s > 0);
}
