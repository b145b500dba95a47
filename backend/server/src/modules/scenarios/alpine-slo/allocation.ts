import type { ScenarioFigure } from '@orrery/contract';
import { percentOf } from '../busy-cores.js';

/** Alpine 5.5.2: below 1 % on one core and 4 % on two. */
export const MOST_ERROR = { 1: 0.01, 2: 0.04 } as const;
/** Of the errors of Alpine's schedule and of run to completion. */
const MOST_RATIO = 0.25;
/** Of their cores: with less, the time for which workers wait for a core counts as cycles of whatever runs next. */
const LEAST_CPU = 0.8;

/** Shares of a whole that are to each other as the parts are. */
function sharesOf(parts: readonly number[]): number[] {
  const whole = parts.reduce((sum, part) => sum + part, 0);
  return parts.map((part) => part / whole);
}

/**
 * How far shares are from what was asked for: the sum of the differences (Alpine 5.5.2), 0 to 2. `measured` and `wanted` are what
 * each class got and was to get, in any unit.
 */
export function allocationError(measured: readonly number[], wanted: readonly number[]): number {
  const [got, asked] = [sharesOf(measured), sharesOf(wanted)];
  return got.reduce((sum, share, i) => sum + Math.abs(share - asked[i]!), 0);
}

/**
 * Bar of the ratio between the errors if the workers had their cores to themselves; else without one, and why. `cores`: that they
 * got; not known is no excuse.
 */
export function judgementOf(workers: number, cores: number | null): Pick<ScenarioFigure, 'bar' | 'note'> {
  if (cores === null || cores >= LEAST_CPU * workers) return { bar: { least: null, most: MOST_RATIO }, note: '' };
  const got = percentOf(cores / workers);
  return {
    bar: null,
    note: `not judged: other work left the engine ${got} of its cores, and waiting counts as cycles`,
  };
}
