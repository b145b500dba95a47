import type { PredictionBand, SloStatus } from '@orrery/contract';
import { quantityOfUnit, quantityText } from './quantity.js';

/** `12.4 % more`, `3.0 % less`, from a factor of two on `6.4 times as much`: measured, as predicted. */
export function errorText(error: number): string {
  if (error >= 1) return `${(1 + error).toFixed(error < 9 ? 1 : 0)} times as much`;
  const percent = (Math.abs(error) * 100).toFixed(1);
  return percent === '0.0' ? 'as predicted' : `${percent} % ${error < 0 ? 'less' : 'more'}`;
}

/** `38 µs`; of a throughput `up to 1.00 Gbit/s`. */
export function predictionText({ kind, unit, predicted }: SloStatus): string {
  const text = quantityText(quantityOfUnit(unit), predicted);
  return kind === 'throughput' && predicted !== null ? `up to ${text}` : text;
}

/** `12.0 µs to 20.0 µs`; null for a throughput. */
export function bandText(band: PredictionBand | null): string | null {
  return band && `${quantityText('us', band.low_us)} to ${quantityText('us', band.high_us)}`;
}

/** `98 % of 4.00 Mbit/s offered`; null where it is not known. */
export function carriedText({ offered, carried }: SloStatus): string | null {
  if (offered === null || carried === null) return null;
  return `${Math.floor(100 * carried)} % of ${quantityText('bps', offered)} offered`;
}
