/** The smaller of the operator's limit and the switch's own; null: no limit of its own. */
export const availableEntries = (configured: number, declared: number | null): number =>
  Math.min(configured, declared ?? Number.POSITIVE_INFINITY);
