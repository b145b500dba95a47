/** The server's wall clock less this browser's monotonic clock, in ms; null before the first answer. */
let offset_ms: number | null = null;

/** How late an answer may tell the time: it tells whole seconds, and was on its way. */
const LATE_MS = 2000;

/**
 * Takes the time of an answer from its `Date` header (RFC 9110 6.6.1). Of answers that tell it a little late the one that is least
 * late counts, so that the time goes on evenly.
 */
export function readServerClock({ headers }: Pick<Response, 'headers'>): void {
  const t_ms = Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(t_ms)) return;
  const told_ms = t_ms - performance.now();
  const isLate = offset_ms !== null && told_ms < offset_ms && told_ms > offset_ms - LATE_MS;
  if (!isLate) offset_ms = told_ms;
}

/** The time by the server's clock, ms since the Unix epoch; by the browser's before the first answer. */
export function serverNow(): number {
  return offset_ms === null ? Date.now() : performance.now() + offset_ms;
}

/** A time by the browser's clock, such as when an answer was read, by the server's. */
export function byServerClock(t_ms: number): number {
  return t_ms + serverNow() - Date.now();
}
