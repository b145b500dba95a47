/** The shortest bytes of a number, one at least (P4Runtime 1.4, 8.4). */
export function canonicalBytes(value: number | bigint): Buffer {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
}

/** Hexadecimal, without leading zeros: equal for equal numbers, however a switch pads them. */
export function numberText(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^0+(?=.)/, '');
}
