export function addressText(address: number): string {
  return [address >>> 24, (address >>> 16) & 255, (address >>> 8) & 255, address & 255].join('.');
}

/** Precondition: dotted decimal, as the contract's schemas check. */
export function addressNumber(text: string): number {
  return text.split('.').reduce((all, part) => all * 256 + Number(part), 0);
}

/** First address and mask of a prefix; a bare address has a prefix length of 32. */
export function prefixNumbers(text: string): { address: number; mask: number } {
  const [address = '', length = '32'] = text.split('/');
  const mask = length === '0' ? 0 : (2 ** 32 - 2 ** (32 - Number(length))) >>> 0;
  return { address: (addressNumber(address) & mask) >>> 0, mask };
}
