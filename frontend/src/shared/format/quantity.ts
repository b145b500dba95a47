/** What a number counts; decides its scale and unit. `share` is a part of one (1 = 100 %). */
export type Quantity = 'bps' | 'pps' | 'us' | 'share' | 'bytes' | 'count' | 'ms';

export interface Formatted {
  readonly value: string;
  readonly unit: string;
}

interface Scale {
  readonly from: number;
  readonly divisor: number;
  readonly unit: string;
}

const decimal = (units: readonly string[]): Scale[] =>
  units.map((unit, power) => ({ from: power === 0 ? 0 : 1000 ** power, divisor: 1000 ** power, unit })).reverse();

const SCALES: Record<Exclude<Quantity, 'share'>, readonly Scale[]> = {
  bps: decimal(['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s', 'Tbit/s']),
  pps: decimal(['pkt/s', 'kpkt/s', 'Mpkt/s', 'Gpkt/s']),
  us: decimal(['µs', 'ms', 's']),
  ms: [
    { from: 3_600_000, divisor: 3_600_000, unit: 'h' },
    { from: 60_000, divisor: 60_000, unit: 'min' },
    { from: 1000, divisor: 1000, unit: 's' },
    { from: 0, divisor: 1, unit: 'ms' },
  ],
  bytes: decimal(['B', 'kB', 'MB', 'GB', 'TB']),
  count: decimal(['', 'k', 'M', 'G', 'T']),
};

/** Width in characters that the value and the unit of a quantity never exceed, so that a live figure does not move. */
export const VALUE_WIDTH_CH = 4;
export const UNIT_WIDTH_CH: Record<Quantity, number> = {
  bps: 6.4,
  pps: 6.4,
  us: 2.2,
  ms: 3.4,
  share: 1.6,
  bytes: 2.2,
  count: 1.2,
};

/** Three significant digits in at most four characters; whole numbers of the smallest unit stay whole. */
function threeDigits(value: number): string {
  if (value === 0) return '0';
  if (value >= 99.95) return value.toFixed(0);
  if (value >= 9.995) return value.toFixed(1);
  return value.toFixed(2);
}

/** The unit in which a magnitude is written, and how much one of it is. */
export function scaleOf(quantity: Quantity, magnitude: number): Pick<Scale, 'divisor' | 'unit'> {
  if (quantity === 'share') return { divisor: 0.01, unit: '%' };
  const scales = SCALES[quantity];
  // 999.6 would round to 1000: it belongs to the next scale, as 1.00.
  return scales.find(({ from }) => magnitude >= from * 0.9995) ?? scales[scales.length - 1]!;
}

export function formatQuantity(quantity: Quantity, value: number): Formatted {
  if (!Number.isFinite(value)) return { value: '–', unit: '' };
  if (quantity === 'share') {
    const percent = value * 100;
    if (percent > 0 && percent < 0.05) return { value: '<0.1', unit: '%' };
    return { value: percent >= 99.95 || percent === 0 ? percent.toFixed(0) : percent.toFixed(1), unit: '%' };
  }
  const magnitude = Math.abs(value);
  const scale = scaleOf(quantity, magnitude);
  const scaled = magnitude / scale.divisor;
  const whole = scale.divisor === 1 && quantity !== 'us' && Number.isInteger(magnitude);
  const digits = whole ? String(magnitude) : threeDigits(scaled);
  return { value: value < 0 ? `−${digits}` : digits, unit: scale.unit };
}

export function quantityText(quantity: Quantity, value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  const { value: digits, unit } = formatQuantity(quantity, value);
  return unit ? `${digits} ${unit}` : digits;
}

const UNIT_QUANTITY: Record<string, Quantity> = { us: 'us', bps: 'bps', pps: 'pps', bytes: 'bytes', share: 'share' };

/** Quantity of a unit name on the wire. */
export function quantityOfUnit(unit: string): Quantity {
  return UNIT_QUANTITY[unit] ?? 'count';
}
