/** Three digits of a value, as sentences tell figures. */
export function threeDigits(value: number): number {
  return Number(value.toPrecision(3));
}

/** Text of a rate with its unit. */
export function rateText(bps: number): string {
  const [scale, unit] =
    bps >= 1e9 ? [1e9, 'Gbit/s'] : bps >= 1e6 ? [1e6, 'Mbit/s'] : bps >= 1e3 ? [1e3, 'kbit/s'] : [1, 'bit/s'];
  return `${threeDigits(bps / scale)} ${unit}`;
}
