/** An invalid problem. `field` is a JSON Pointer (RFC 6901) into it, `detail` the explanation. */
export class BadProblem extends Error {
  override readonly name = 'BadProblem';

  constructor(
    readonly field: string,
    readonly detail: string,
  ) {
    super(`${field === '' ? 'the problem' : field} ${detail}`);
  }
}

/** Beyond these, sums, products and quotients of a few figures leave the range in which arithmetic means something. */
const MOST = 1e30;
const LEAST_ABOVE_ZERO = 1e-30;

/** Errors: `BadProblem` unless the value is a number above or, where allowed, at the least, and of a size to reckon with. */
export function requireAtLeast(field: string, value: number, least: number, exclusive = false): void {
  const sound = exclusive ? value > least : value >= least;
  if (!sound) throw new BadProblem(field, `must be ${exclusive ? 'above' : 'at least'} ${least}, not ${value}`);
  if (value > MOST || (value > 0 && value < LEAST_ABOVE_ZERO))
    throw new BadProblem(field, `must be 0, or from ${LEAST_ABOVE_ZERO} to ${MOST}, not ${value}`);
}

/** Errors: `BadProblem` unless the value is a whole number in the range. */
export function requireWhole(field: string, value: number, least: number, most: number): void {
  if (!Number.isInteger(value) || value < least || value > most)
    throw new BadProblem(field, `must be a whole number from ${least} to ${most}, not ${value}`);
}

/** Errors: `BadProblem` when there are more of something than a search can take. */
export function requireAtMost(field: string, count: number, most: number): void {
  if (count > most) throw new BadProblem(field, `has ${count} entries; at most ${most} can be planned`);
}

/** Errors: `BadProblem` unless the value is one of so many indices. */
export function requireIndex(field: string, index: number, count: number): void {
  if (!Number.isInteger(index) || index < 0 || index >= count)
    throw new BadProblem(field, `must be an index below ${count}, not ${index}`);
}
