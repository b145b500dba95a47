/** A number as it stands in its field: text as long as it is none, empty text when nothing is there. */
export type Entry = number | string;

export interface NumberBounds {
  readonly min: number;
  /** Absent: there is no upper one. */
  readonly max?: number;
  readonly whole?: boolean;
}

/** What is wrong with an entry, or nothing. */
export function numberProblem({ min, max = Number.POSITIVE_INFINITY, whole }: NumberBounds, entry: Entry) {
  const sound = typeof entry === 'number' && entry >= min && entry <= max && !(whole && !Number.isInteger(entry));
  if (sound) return undefined;
  const kind = whole ? 'A whole number' : 'A number';
  return max === Number.POSITIVE_INFINITY ? `${kind}, at least ${min}` : `${kind} from ${min} to ${max}`;
}
