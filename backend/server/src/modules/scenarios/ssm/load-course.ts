/** Between idle and overloaded. */
const RAMP_S = 0.2;
/** A point nearer to another one is left out. */
const LEAST_S = 0.001;

/** Loads that come and go: in each period every tunnel is overloaded for one half and idle for the other, each a part later than the one before. */
export interface LoadCourse {
  readonly tunnels: number;
  readonly period_s: number;
  readonly high_bps: number;
  readonly low_bps: number;
}

/** What tunnel n, counted from 1, is offered at a time since the course began. */
export function offeredAt({ tunnels, period_s, high_bps, low_bps }: LoadCourse, n: number, s: number): number {
  const since = within(s - beginOf(tunnels, period_s, n), period_s);
  const half = period_s / 2;
  const ramp = (high_bps - low_bps) / RAMP_S;
  if (since < RAMP_S) return low_bps + ramp * since;
  if (since < half) return high_bps;
  return Math.max(low_bps, high_bps - ramp * (since - half));
}

/** One period of it for tunnel n as points between which the rate is linear: the wave that its generator repeats. */
export function waveOf(course: LoadCourse, n: number): { readonly at_s: number; readonly rate_bps: number }[] {
  const { tunnels, period_s } = course;
  const begin = beginOf(tunnels, period_s, n);
  const corners = [0, RAMP_S, period_s / 2, period_s / 2 + RAMP_S].map((s) => within(begin + s, period_s));
  const inner = corners.filter((s) => s > LEAST_S && s < period_s - LEAST_S).sort((a, b) => a - b);
  return [0, ...inner, period_s].map((at_s) => ({ at_s, rate_bps: offeredAt(course, n, at_s) }));
}

const beginOf = (tunnels: number, period_s: number, n: number) => ((n - 1) * period_s) / tunnels;
const within = (s: number, period_s: number) => ((s % period_s) + period_s) % period_s;
