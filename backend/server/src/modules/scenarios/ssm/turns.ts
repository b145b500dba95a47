import type { LendingTurn } from '@orrery/contract';
import { jainIndex } from '@orrery/planner';

type Turn = Pick<LendingTurn, 'instance_id' | 'from_ms' | 'to_ms'>;
type Point = readonly [s: number, value: number];

/** Rates follow a change of hands within this time: the receiver tells of whole seconds. */
export const EDGE_S = 2;

/** Turns that are over, and not cut off by the end of the observation. */
export function whole<T extends Turn>(turns: readonly T[], untilMs: number): (T & { readonly to_ms: number })[] {
  return turns.flatMap((turn) =>
    turn.to_ms !== null && turn.to_ms <= untilMs ? [{ ...turn, to_ms: turn.to_ms }] : [],
  );
}

/** Jain's index of the time that each of them held an accelerator between two times; null: nobody did. */
export function fairness(
  turns: readonly Turn[],
  instances: readonly string[],
  fromMs: number,
  toMs: number,
): number | null {
  return jainIndex(
    instances.map((id) =>
      turns
        .filter(({ instance_id }) => instance_id === id)
        .reduce(
          (sum, { from_ms, to_ms }) => sum + Math.max(0, Math.min(to_ms ?? toMs, toMs) - Math.max(from_ms, fromMs)),
          0,
        ),
    ),
  );
}

/** What ten turns show of an algorithm that is fair, and what fewer of them do. */
const FAIR = { over: 10, least: 0.98, leastOfFewer: 0.9 } as const;
/** Of each of them: then one more of some makes all look unfair by no more than that. */
const TURNS_EACH = 3;

/** The least index that turns must have which are over. */
export function leastFairness(over: readonly Pick<Turn, 'instance_id'>[], instances: readonly string[]): number {
  const own = instances.map((id) => over.filter(({ instance_id }) => instance_id === id).length);
  return over.length >= FAIR.over && own.every((count) => count >= TURNS_EACH) ? FAIR.least : FAIR.leastOfFewer;
}

/** A lane as steps: `level` while the instance has it, else 0. Times in s since `startMs`. */
export function lane(
  turns: readonly Turn[],
  instance: string,
  startMs: number,
  endMs: number,
  level: number,
): [number, number][] {
  const s = (ms: number) => (ms - startMs) / 1000;
  const own = turns.filter(({ instance_id }) => instance_id === instance).sort((a, b) => a.from_ms - b.from_ms);
  const steps = own.flatMap(({ from_ms, to_ms }): [number, number][] => [
    [s(from_ms), 0],
    [s(from_ms), level],
    [s(to_ms ?? endMs), level],
    [s(to_ms ?? endMs), 0],
  ]);
  return [[0, 0], ...steps, [s(endMs), 0]];
}

/**
 * Mean of a series while the instance had an accelerator and while it had none; null: never, or nothing measured. Points within
 * `edgeS` after a change of hands are of both, and count for neither.
 */
export function whileHeld(
  points: readonly Point[],
  turns: readonly Turn[],
  instance: string,
  { startMs, fromMs, endMs, edgeS }: { startMs: number; fromMs: number; endMs: number; edgeS: number },
): { held: number | null; not: number | null } {
  const own = turns.filter(({ instance_id }) => instance_id === instance);
  const edges = own.flatMap(({ from_ms, to_ms }) => [from_ms, to_ms ?? endMs]);
  const held: number[] = [];
  const not: number[] = [];
  for (const [s, value] of points) {
    const ms = startMs + 1000 * s;
    if (ms < fromMs || ms > endMs || edges.some((edge) => ms >= edge - 500 && ms < edge + 1000 * edgeS)) continue;
    (own.some(({ from_ms, to_ms }) => ms >= from_ms && ms < (to_ms ?? endMs)) ? held : not).push(value);
  }
  return { held: mean(held), not: mean(not) };
}

export function mean(values: readonly number[]): number | null {
  return values.length > 0 ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
}

/** Sum of the means of several series between two times; null: one of them has no points there. Times in s since `startMs`. */
export function totalMean(
  series: readonly (readonly Point[])[],
  { startMs, fromMs, endMs }: { startMs: number; fromMs: number; endMs: number },
): number | null {
  const means = series.map((points) =>
    mean(points.filter(([s]) => startMs + 1000 * s >= fromMs && startMs + 1000 * s <= endMs).map(([, value]) => value)),
  );
  return means.reduce<number | null>((sum, each) => (sum === null || each === null ? null : sum + each), 0);
}

/** What one schedule carries, of what the best of the others does; null: one was not measured, or none of the others carries anything. */
export function partOfBest(carried: number | null, others: readonly (number | null)[]): number | null {
  const best = others.reduce<number | null>(
    (most, each) => (most === null || each === null ? null : Math.max(most, each)),
    0,
  );
  return carried === null || !best ? null : carried / best;
}
