import { type ChainDefinition, DEFAULT_GOAL, DEFAULT_PERIOD_S, type SloStatus } from '@orrery/contract';
import type { Worse } from '../budget/seconds-history.js';

/** What the seconds of an objective are judged by. */
export interface ObjectiveTerms {
  readonly goal: number;
  readonly period_s: number;
  /** Seconds judged by another one cannot be compared: they are counted anew. */
  readonly judgedBy: string;
}

/** Null: the chain has no such objective. */
export function termsOf(
  { slos, class_slos }: Pick<ChainDefinition, 'slos' | 'class_slos'>,
  sloId: string,
): ObjectiveTerms | null {
  const slo = slos.find(({ id }) => id === sloId) ?? class_slos.find(({ id }) => id === sloId);
  if (!slo) return null;
  const { id: _id, goal = DEFAULT_GOAL, period_s = DEFAULT_PERIOD_S, ...aim } = slo;
  return { goal, period_s, judgedBy: JSON.stringify(aim) };
}

const LIMITS: ReadonlySet<SloStatus['kind']> = new Set(['latency', 'loss', 'priority']);
const FLOORS: ReadonlySet<SloStatus['kind']> = new Set(['throughput', 'availability']);

/** Which of two measurements is worse: of a ratio the one farther from its target. */
export function worseOf({ kind, target }: Pick<SloStatus, 'kind' | 'target'>): Worse {
  if (LIMITS.has(kind)) return (a, b) => a > b;
  if (FLOORS.has(kind)) return (a, b) => a < b;
  return (a, b) => Math.abs(a - target) > Math.abs(b - target);
}
