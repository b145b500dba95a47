/** Mean and variance of a time, and what it never falls below. */
export interface Moments {
  readonly mean_us: number;
  readonly variance_us2: number;
  readonly least_us: number;
}

export const NO_TIME: Moments = { mean_us: 0, variance_us2: 0, least_us: 0 };

/** One after the other, independent. */
export function plus(a: Moments, b: Moments): Moments {
  return {
    mean_us: a.mean_us + b.mean_us,
    variance_us2: a.variance_us2 + b.variance_us2,
    least_us: a.least_us + b.least_us,
  };
}

/** What is left of a time after an independent first part of it. */
export function minus(all: Moments, first: Moments): Moments {
  return {
    mean_us: all.mean_us - first.mean_us,
    variance_us2: Math.max(0, all.variance_us2 - first.variance_us2),
    least_us: all.least_us - first.least_us,
  };
}

/** Over packets of which each part, by its weight, takes one of the times. */
export function mixture(parts: readonly { readonly weight: number; readonly time: Moments }[]): Moments {
  const weight = parts.reduce((sum, part) => sum + part.weight, 0);
  const first = parts.reduce((sum, part) => sum + part.weight * part.time.mean_us, 0) / weight;
  const second =
    parts.reduce((sum, part) => sum + part.weight * (part.time.variance_us2 + part.time.mean_us ** 2), 0) / weight;
  const least_us = Math.min(...parts.map(({ time }) => time.least_us));
  return { mean_us: first, variance_us2: Math.max(0, second - first * first), least_us };
}

/** The later of two independent times, by the moments of the maximum of two normal variables (Clark 1961). */
export function later(a: Moments, b: Moments): Moments {
  const least_us = Math.max(a.least_us, b.least_us);
  const spread = Math.sqrt(a.variance_us2 + b.variance_us2);
  if (spread === 0) return { ...(a.mean_us >= b.mean_us ? a : b), least_us };
  const distance = (a.mean_us - b.mean_us) / spread;
  const density = Math.exp(-(distance ** 2) / 2) / Math.sqrt(2 * Math.PI);
  const part = normalBelow(distance);
  const mean_us = a.mean_us * part + b.mean_us * (1 - part) + spread * density;
  const second =
    (a.mean_us ** 2 + a.variance_us2) * part +
    (b.mean_us ** 2 + b.variance_us2) * (1 - part) +
    (a.mean_us + b.mean_us) * spread * density;
  return { mean_us, variance_us2: Math.max(0, second - mean_us * mean_us), least_us };
}

/** Part of a standard normal distribution below x (Abramowitz and Stegun 26.2.17, error under 1e-7). */
function normalBelow(x: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(x));
  const poly = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  const tail = (Math.exp(-(x * x) / 2) / Math.sqrt(2 * Math.PI)) * poly;
  return x >= 0 ? 1 - tail : tail;
}
