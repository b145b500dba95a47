interface Field {
  readonly shift: number;
  readonly width: number;
}
interface Register {
  readonly address: number;
  readonly count?: number;
  readonly stride?: number;
}

/** Address of one register in an array. */
export function at({ address, count = 1, stride = 4 }: Register, index: number): number {
  if (index >= count) throw new RangeError(`register ${index} of ${count}`);
  return address + index * stride;
}

export function allOf(register: Register): number[] {
  return Array.from({ length: register.count ?? 1 }, (_, i) => at(register, i));
}

/** Value of one field of a register. */
export function field({ shift, width }: Field, word: number): number {
  return Math.floor(word / 2 ** shift) % 2 ** width;
}

/** A register value composed from these fields. */
export function word<F extends Readonly<Record<string, Field>>>(
  { fields }: { readonly fields: F },
  values: Partial<Record<keyof F, number>>,
): number {
  let all = 0;
  for (const [name, value] of Object.entries(values) as [keyof F & string, number][]) {
    const { shift, width } = fields[name]!;
    if (!Number.isInteger(value) || value < 0 || value >= 2 ** width)
      throw new RangeError(`${name}: ${value} does not fit into ${width} bits`);
    all += value * 2 ** shift;
  }
  return all;
}
