import type { ScenarioFigure } from '@orrery/contract';
import { percentOf } from '../busy-cores.js';

/** The prediction assumes that each worker finds a free core: it does if the machine is busy for less than this share. */
export const QUIET_BELOW = 0.5;

/** Bar of the ratio of measured to predicted latency; without a bar, the reason why the ratio is not judged. */
export function judgementOf(tolerance: number, busyShare: number): Pick<ScenarioFigure, 'bar' | 'note'> {
  if (busyShare < QUIET_BELOW) return { bar: { least: 1 - tolerance, most: 1 + tolerance }, note: '' };
  return {
    bar: null,
    note: `not judged: the machine was busy for ${percentOf(busyShare)} of the time, and the prediction assumes free cores`,
  };
}
