import type { Operation } from '@orrery/contract';
import { isRefusal, prospectOf } from '../../platform/problem.js';
import { endedBy } from '../../ports/operation-log.js';

/** How an attempt to enforce requests ended. */
export type Ending = { readonly is: 'done' } | Failure;

type Failure = Exclude<Refusal, { is: 'late' }>;

/** Why an operation was not accepted. */
export type Refusal =
  /** Something else was in the way: it is tried again. */
  | { readonly is: 'passing'; readonly why: string }
  /** The plan took too long. */
  | { readonly is: 'late'; readonly why: string }
  /** The switches do not take the classes beside what came first: it is decided on the requests anew. */
  | { readonly is: 'crowded'; readonly why: string }
  /** It would end like this again. */
  | { readonly is: 'final'; readonly why: string };

/** Attempts of one pool in a row that may come to nothing before the last reason counts. */
const MOST_FAILURES = 5;

/** What a class is refused for at a switch. */
const CROWDED: readonly (string | undefined)[] = ['switch-table', 'switch-ability', 'class-conflict'];

/** `failures`: of the pool in a row, before this one. */
export function endingOf(operation: Operation, failures: number): Ending {
  const { state, error } = operation;
  if (state === 'COMPLETED' || state === 'PARTIALLY_COMPLETED') return { is: 'done' };
  const why = error?.detail ?? 'The operation was taken back.';
  return { is: endedBy(operation) !== null || failures + 1 >= MOST_FAILURES ? 'final' : 'passing', why };
}

/** Of an operation that was not accepted. Throws what is no refusal. */
export function refusalOf(error: unknown): Refusal {
  if (!isRefusal(error)) throw error;
  const { message: why, errors } = error;
  const is = prospectOf(error);
  return { is: is === 'final' && errors.some(({ code }) => CROWDED.includes(code)) ? 'crowded' : is, why };
}

/** Of a plan that took too long. `times`: of the pool in a row, in the same surroundings, before this one. */
export function endingOfLate(why: string, times: number): Failure {
  return { is: times + 1 >= MOST_FAILURES ? 'final' : 'passing', why };
}

/** Until the next attempt, in ms: doubles from `firstMs` to `mostMs`. */
export function backoffMs(attempts: number, firstMs: number, mostMs: number): number {
  return Math.min(mostMs, firstMs * 2 ** Math.min(attempts, 20));
}
