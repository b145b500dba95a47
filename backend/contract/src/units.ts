/** Units of numbers in the API, with which names of fields end, as people write them. */
const UNITS: ReadonlyMap<string, string> = new Map([
  ['bps', 'bit/s'],
  ['pps', 'packets/s'],
  ['bytes', 'bytes'],
  ['us', 'µs'],
  ['ms', 'ms'],
  ['s', 's'],
]);

/** Display form of an API unit: `pps` becomes "packets/s". */
export const unitText = (unit: string): string => UNITS.get(unit) ?? unit;

/** The unit at the end of the name of a field: `s` of `slice_s`; empty: none, as of `packets_per_s`. */
export function unitOfName(name: string): string {
  const words = name.split(/[_-]+/).filter(Boolean);
  return words.length > 1 && words.at(-2) !== 'per' ? (UNITS.get(words.at(-1)!) ?? '') : '';
}
