/** `null` where there is nothing to compare. */
export function ratioOf(a: number | null | undefined, b: number | null | undefined): number | null {
  return a != null && b != null && b > 0 ? a / b : null;
}
