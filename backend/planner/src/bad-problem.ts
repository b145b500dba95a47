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

/** Errors: `BadProblem` unless the value is a finite number above or, where allowed, at the least. */
export function requireAtLeast(field: string, value: number, least: number, exclusive = false): void {
  const sound = Number.isFinite(value) && (exclusive ? value > least : value >= least);
  if (!sound) throw new BadProblem(field, `must be ${exclusive ? 'above' : 'at least'} ${least}, not ${value}`);
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
