import { boundClasses, slackOf } from './cpu-time.js';
import { FREE, type Region } from './region.js';
import { maximise } from './simplex.js';

/** Rounds after which the search for factors ends; each adds a face of a piecewise linear function. */
const MOST_ROUNDS = 100;
const PRECISION = 1e-12;
/** No group is scaled below this part of the mean. */
const LEAST_FACTOR = 1e-6;

/**
 * By how much more than there is the considered classes must be charged in the constrained mode, as part of what they
 * get; 0 when services that never rise can give them what they want, however many tasks there are.
 */
export function obstacle(region: Region, considered: Uint8Array = boundClasses(region)): number {
  return bestFactors(region, considered).excess;
}

/** The region with the scale of its groups at which the constrained mode comes nearest to what all classes want. */
export function atBestScale(region: Region): Region {
  const { factors } = bestFactors(region, boundClasses(region));
  return factors === null ? region : scaled(region, factors);
}

/** Kelley's cutting planes (1960): a concave function is the least of the planes that touch it. `null`: as it stands. */
function bestFactors(region: Region, considered: Uint8Array): { factors: Float64Array | null; excess: number } {
  const asked = slackOf(region, considered);
  let best = { factors: null as Float64Array | null, excess: Math.max(0, -asked.most) };
  const present = [...new Set(region.group.filter((_, k) => considered[k]))];
  if (best.excess === 0 || present.length < 2) return best;
  const planes = [asked.slope];
  for (let round = 0; round < MOST_ROUNDS && best.excess > 0; round++) {
    const { factors, promised } = highest(planes, present, region.groups);
    const { most, slope } = slackOf(scaled(region, factors), considered);
    if (-most < best.excess) best = { factors: factors.map((it) => it / factors[0]!), excess: Math.max(0, -most) };
    if (promised < 0 || promised - most <= PRECISION) break;
    planes.push(slope.map((it, g) => it / factors[g]!));
  }
  return best;
}

/** Factors, of which the present ones are 1 on average, where the least of the planes is highest. */
function highest(planes: readonly Float64Array[], present: readonly number[], groups: number) {
  const above = present.length;
  const width = above + 2 + planes.length;
  const objective = new Array<number>(width).fill(0);
  objective[above] = 1;
  objective[above + 1] = -1;
  const rows = planes.map((plane, i) => {
    const row = new Array<number>(width).fill(0);
    present.forEach((group, j) => {
      row[j] = plane[group]!;
    });
    row[above] = -1;
    row[above + 1] = 1;
    row[above + 2 + i] = -1;
    return row;
  });
  const right = planes.map((plane) => -LEAST_FACTOR * present.reduce((sum, group) => sum + plane[group]!, 0));
  const mean = new Array<number>(width).fill(0).fill(1, 0, above);
  const y = maximise(objective, [...rows, mean], [...right, above * (1 - LEAST_FACTOR)]);
  const factors = new Float64Array(groups).fill(1);
  present.forEach((group, j) => {
    factors[group] = LEAST_FACTOR + (y?.[j] ?? 1 - LEAST_FACTOR);
  });
  return { factors, promised: y === null ? -1 : y[above]! - y[above + 1]! };
}

function scaled(region: Region, factors: Float64Array): Region {
  const { group } = region;
  return { ...region, target: region.target.map((it, k) => (group[k] === FREE ? it : it * factors[group[k]!]!)) };
}
