/** The address as an unsigned number. Precondition: dotted decimal. */
export function addressToNumber(address: string): number {
  return address.split('.').reduce((value, part) => value * 256 + Number(part), 0);
}

export function numberToAddress(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}

interface Prefix {
  readonly first: number;
  readonly last: number;
  readonly length: number;
}

const ADDRESS = /^(25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}$/;

export function isAddress(text: string): boolean {
  return ADDRESS.test(text);
}

/** An address or prefix; host bits are ignored. `null` when it is neither. */
export function parsePrefix(text: string): Prefix | null {
  const [address = '', bits = '32', ...rest] = text.split('/');
  if (rest.length > 0 || !ADDRESS.test(address) || !/^(3[0-2]|[12]?\d)$/.test(bits)) return null;
  const size = 2 ** (32 - Number(bits));
  const first = Math.floor(addressToNumber(address) / size) * size;
  return { first, last: first + size - 1, length: Number(bits) };
}

export function formatPrefix({ first, length }: Prefix): string {
  return `${numberToAddress(first)}/${length}`;
}
