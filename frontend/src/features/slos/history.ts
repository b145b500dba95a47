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

/** A figure over time, as charts take it: at the end of each step. */
export function columnOf({ points, step_s }: SloHistory, figure: (point: Point) => number | null): AlignedData {
  return [points.map(({ t_ms }) => t_ms / 1000 + step_s), points.map(figure)];
}

/** Whether anything is known of the objective in this time. */
export function isKnown({ points }: SloHistory): boolean {
  return points.some(({ good_s, bad_s }) => good_s + bad_s > 0);
}
