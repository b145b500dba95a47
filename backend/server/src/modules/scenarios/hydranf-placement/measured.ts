/** Null where one of them was not measured, or there are none. */
export function meanOfAll(values: readonly (number | null)[]): number | null {
  const measured = values.filter((value) => value !== null);
  if (values.length === 0 || measured.length < values.length) return null;
  return measured.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The least of the rates, in percent of what was offered to each; null where one was not measured. */
export function leastDelivered(rates: readonly (number | null)[], offered: number): number | null {
  if (meanOfAll(rates) === null) return null;
  return 100 * Math.min(...rates.map((pps) => (pps ?? 0) / offered));
}
