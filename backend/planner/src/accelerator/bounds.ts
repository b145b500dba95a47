import { type PackingModel, roundedUp } from './model.js';

/**
 * No packing costs less: a device in use is paid for at least by the parts of one dimension that its demands take, each
 * demand at the type where its part is cheapest; the best dimension counts. With whole costs the sum is rounded up.
 */
export function dimensionBound(model: PackingModel): number {
  const { n, d, grain } = model;
  let best = 0;
  for (let k = 0; k < d; k++) {
    let sum = 0;
    for (let i = 0; i < n; i++) {
      const share = cheapestShare(model, i, k);
      if (Number.isFinite(share)) sum += share;
    }
    best = Math.max(best, sum);
  }
  return roundedUp(Math.max(best, dearestDemand(model)), grain);
}

/** Minimum cost of a demand for its share of a dimension. */
export function cheapestShare({ n, m, d, need, cost, fits }: PackingModel, item: number, dimension: number): number {
  let share = Number.POSITIVE_INFINITY;
  for (let t = 0; t < m; t++) {
    if (fits[t * n + item]) share = Math.min(share, need[(t * n + item) * d + dimension]! * cost[t]!);
  }
  return share;
}

/** Some demand needs at least the cheapest device that can carry it. */
function dearestDemand({ n, m, cost, fits }: PackingModel): number {
  let dearest = 0;
  for (let i = 0; i < n; i++) {
    let least = Number.POSITIVE_INFINITY;
    for (let t = 0; t < m; t++) if (fits[t * n + i]) least = Math.min(least, cost[t]!);
    if (Number.isFinite(least)) dearest = Math.max(dearest, least);
  }
  return dearest;
}
