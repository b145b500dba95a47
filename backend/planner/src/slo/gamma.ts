/** Natural logarithm of the gamma function for x > 0 (Lanczos, g = 7, n = 9). */
function logGamma(x: number): number {
  const c = [
    676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905,
    -0.13857109526572012, 9.984369578019572e-6, 1.5056327351493116e-7,
  ];
  let sum = 0.9999999999998099;
  c.forEach((value, i) => {
    sum += value / (x + i);
  });
  const t = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

/** Regularized lower incomplete gamma function: the distribution of a gamma variable of this shape and scale 1. */
function gammaCdf(shape: number, x: number): number {
  if (x <= 0) return 0;
  const lead = Math.exp(shape * Math.log(x) - x - logGamma(shape));
  if (x < shape + 1) {
    let term = 1 / shape;
    let sum = term;
    for (let k = 1; k < 1000 && term > sum * 1e-14; k++) {
      term *= x / (shape + k);
      sum += term;
    }
    return lead * sum;
  }
  let b = x + 1 - shape;
  let c = 1e300;
  let d = 1 / b;
  let h = d;
  for (let k = 1; k < 1000; k++) {
    const a = -k * (k - shape);
    b += 2;
    d = 1 / (a * d + b);
    c = b + a / c;
    h *= d * c;
    if (Math.abs(d * c - 1) < 1e-14) break;
  }
  return 1 - lead * h;
}

/** Value below which the part `p` of a gamma distribution with this mean and variance lies. */
export function gammaQuantile(p: number, mean: number, variance: number): number {
  if (mean <= 0 || variance <= 0) return Math.max(0, mean);
  const shape = (mean * mean) / variance;
  const scale = variance / mean;
  let lo = 0;
  let hi = Math.max(1, shape);
  while (gammaCdf(shape, hi) < p) hi *= 2;
  for (let i = 0; i < 80; i++) {
    const middle = (lo + hi) / 2;
    if (gammaCdf(shape, middle) < p) lo = middle;
    else hi = middle;
  }
  return hi * scale;
}

const NARROWEST = 1e4;
const WIDEST = 0.05;

/**
 * Mean and variance of the gamma distribution with these quantiles, 0 < low < high. Ratios beyond those of shapes from 0.05
 * to 10,000 are taken as these; then `high` does not match.
 */
export function gammaThrough(
  low: { readonly p: number; readonly value: number },
  high: { readonly p: number; readonly value: number },
): { readonly mean: number; readonly variance: number } {
  const ratio = high.value / low.value;
  let lo = Math.log(WIDEST);
  let hi = Math.log(NARROWEST);
  for (let i = 0; i < 50; i++) {
    const middle = (lo + hi) / 2;
    const shape = Math.exp(middle);
    // Wider distributions, those of small shapes, have larger ratios.
    if (gammaQuantile(high.p, shape, shape) / gammaQuantile(low.p, shape, shape) > ratio) lo = middle;
    else hi = middle;
  }
  const shape = Math.exp(hi);
  const scale = low.value / gammaQuantile(low.p, shape, shape);
  return { mean: shape * scale, variance: shape * scale * scale };
}
