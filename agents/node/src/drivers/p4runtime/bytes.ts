/** The shortest bytes of a number, one at least (P4Runtime 1.4, 8.4). */
export function canonicalBytes(value: number | bigint): Buffer {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
}

/**
 * As many bytes as the field has. simple_switch_grpc takes a shorter upper bound whose bits are all ones for that of the
 * whole field.
 */
export function fieldBytes(value: bigint, bitwidth: number): Buffer {
  return Buffer.from(value.toString(16).padStart(2 * Math.ceil(bitwidth / 8), '0'), 'hex');
}

export function bytesNumber(bytes: Buffer): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${bytes.toString('hex')}`);
}

/** Hexadecimal, without leading zeros: equal for equal numbers, however a switch pads them. */
export function numberText(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^0+(?=.)/, '');
}
