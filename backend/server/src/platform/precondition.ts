import { ProblemError } from './problem.js';

/** Of `If-Match`: the revision that must still be the current one; null: `*`, whatever it is; undefined: no header. */
export type Precondition = string | null | undefined;

/**
 * For a change that overwrites what is there: throws 428 (RFC 6585 3) without `If-Match`, so that nobody overwrites what
 * they have not read.
 */
export function requireRead(given: Precondition, noun: string, revision: number | string): string | null {
  if (given === undefined)
    throw new ProblemError(
      428,
      `The ${noun} exists, at revision ${revision}: send its ETag as If-Match, or * to overwrite it.`,
      [{ pointer: '', header: 'If-Match', detail: 'is required', code: 'precondition-required' }],
    );
  return given;
}
