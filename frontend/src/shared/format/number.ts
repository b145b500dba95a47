/** State of a number field: text while it is not a valid number, empty text if it is blank. */
export type Entry = number | string;

export interface NumberBounds {
  readonly min: number;
  /** Absent: there is no upper one. */
  readonly max?: number;
  readonly whole?: boolean;
  /** What it counts. */
  readonly unit?: string;
}

/** Bounds of a number of the contract. */
export function boundsOf(
  { minValue, maxValue }: { readonly minValue: number | null; readonly maxValue: number | null },
  unit: string,
): NumberBounds {
  return { min: minValue ?? 0, max: maxValue ?? undefined, whole: true, unit };
}

/** The error of an entry, if any. */
export function numberProblem({ min, max = Number.POSITIVE_INFINITY, whole, unit }: NumberBounds, entry: Entry) {
  const sound = typeof entry === 'number' && entry >= min && entry <= max && !(whole && !Number.isInteger(entry));
  if (sound) return undefined;
  const kind = whole ? 'A whole number' : 'A number';
  const range = max === Number.POSITIVE_INFINITY ? `, at least ${min}` : ` from ${min} to ${max}`;
  return `${kind}${range}${unit ? ` ${unit}` : ''}`;
}

/** A count with separators, `10,000`, as fields show numbers; a dash if there is none. */
export const countText = (count: number | null | undefined): string => count?.toLocaleString('en') ?? '–';
