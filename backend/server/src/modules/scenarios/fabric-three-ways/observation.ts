import type { Count } from '../counted.js';
import type { Replayed } from '../replay.js';

/** What one driver did with the capture. */
export interface Observation extends Replayed {
  readonly driver: string;
  /** Of rules of the switches, by rule and switch. */
  readonly rules: ReadonlyMap<string, Count>;
  /** Into and out of NFs. */
  readonly nfs: ReadonlyMap<string, Count>;
}

/** Rules and NFs that did not count the same; one that only one of them has did not. */
export function countersApart(one: Observation, other: Observation): string[] {
  return (['rules', 'nfs'] as const).flatMap((kind) => {
    const names = new Set([...one[kind].keys(), ...other[kind].keys()]);
    return [...names].filter((name) => textOf(one[kind].get(name)) !== textOf(other[kind].get(name)));
  });
}

const textOf = (count: Count | undefined) => (count ? `${count.packets} ${count.bytes}` : '');
