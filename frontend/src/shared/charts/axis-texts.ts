import { type Quantity, quantityText, scaleOf } from '../format/quantity.js';

const MOST_DIGITS = 6;

/** Texts of the points of an axis, in ascending order: as figures are written elsewhere, with more digits where two would be the same. */
export function axisTexts(quantity: Quantity, points: readonly number[]): string[] {
  const texts = points.map((value) => quantityText(quantity, value));
  if (points.length < 2) return texts;
  const { divisor, unit } = scaleOf(quantity, Math.max(...points.map(Math.abs)));
  const step = Math.min(...points.slice(1).map((value, index) => value - points[index]!)) / divisor;
  // A share is written with one digit behind the point, which must not round a point of the axis either.
  const isExact = quantity !== 'share' || isWhole(step * 10);
  if (isExact && new Set(texts).size === points.length) return texts;
  let digits = 0;
  while (digits < MOST_DIGITS && !isWhole(step * 10 ** digits)) digits++;
  return points.map((value) => `${value === 0 ? '0' : (value / divisor).toFixed(digits)}${unit && ` ${unit}`}`);
}

/** But for what binary fractions lack. */
function isWhole(value: number): boolean {
  const whole = Math.round(value);
  return whole !== 0 && Math.abs(value - whole) < 1e-6 * whole;
}
