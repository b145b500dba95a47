/** The server's wall clock less this browser's monotonic clock, in ms; null before the first answer. */
let offset_ms: number | null = null;

/** Takes the time of an answer from its `Date` header (RFC 9110 6.6.1), which is exact to a second. */
export function readServerClock({ headers }: Pick<Response, 'headers'>): void {
  const t_ms = Date.parse(headers.get('date') ?? '');
  if (!Number.isNaN(t_ms)) offset_ms = t_ms - performance.now();
}

/** The time by the server's clock, ms since the Unix epoch; by the browser's before the first answer. */
export function serverNow(): number {
  return offset_ms === null ? Date.now() : performance.now() + offset_ms;
}
