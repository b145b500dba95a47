const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const day = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', day: '2-digit' });

/** `14:03:27` */
export function clockText(tMs: number): string {
  return clock.format(tMs);
}

/** `14:03:27.482` */
export function clockTextMs(tMs: number): string {
  return `${clock.format(tMs)}.${String(Math.floor(tMs) % 1000).padStart(3, '0')}`;
}

export function dateTimeText(tMs: number): string {
  return `${day.format(tMs)}, ${clockTextMs(tMs)}`;
}

/** `now`, `12 s ago`, `3 min ago`, `2 h ago`, `5 d ago`; a future time (clocks that differ) is `now`. */
export function ageText(ageMs: number): string {
  const s = Math.floor(ageMs / 1000);
  if (s < 1) return 'now';
  if (s < 60) return `${s} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ago`;
  return `${Math.floor(s / 86_400)} d ago`;
}

/** `840 ms`, `2.4 s`, `3 min 20 s`, `2 h 5 min` */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const s = Math.round(ms / 1000);
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  const min = Math.round(s / 60);
  return `${Math.floor(min / 60)} h ${min % 60} min`;
}
