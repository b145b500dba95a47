import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Trouble } from './troubles.js';
import { NOTHING_TOLD, type Told, toldNext } from './wording.js';

const TICK_MS = 500;
const lost = (what: string, kind: Trouble['kind'] = 'break', isTotal = false): readonly Trouble[] => [
  { kind, what, isTotal, link: null },
];
const ALL = lost('everything', 'break', true);
const PART = lost('part');

/** What is told at each look, by what is found. */
function play(found: readonly (readonly Trouble[])[]): (string | undefined)[] {
  let told: Told = NOTHING_TOLD;
  return found.map((troubles, n) => {
    told = toldNext(told, troubles, n * TICK_MS);
    return told.troubles[0]?.what;
  });
}
const lasting = (ms: number, troubles: readonly Trouble[]) => Array.from({ length: ms / TICK_MS }, () => troubles);

it('tells at once what begins, what ends and what is of another kind', () => {
  expect(play([ALL, [], PART, lost('5 %', 'loss'), PART])).toEqual(['everything', undefined, 'part', '5 %', 'part']);
  expect(play([lost('client-1', 'host'), lost('client-2', 'host')])).toEqual(['client-1', 'client-2']);
});

it('tells at once that everything is lost instead of a part', () => {
  expect(play([PART, ALL, PART, ALL])).toEqual(['part', 'everything', 'everything', 'everything']);
});

it('tells other words once they have held', () => {
  const told = play([...lasting(1000, ALL), ...lasting(5000, PART)]);
  expect(told.indexOf('part') * TICK_MS).toBe(3500);
  expect(told.at(-1)).toBe('part');
});

it('tells no words that come and go, and in the end the ones that stay', () => {
  const flaps = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 4 })), { maxLength: 20 });
  fc.assert(
    fc.property(flaps, (list) => {
      const found = list.flatMap(([isPart, looks]) => [...lasting(looks * TICK_MS, isPart ? PART : ALL), ALL]);
      expect(new Set(play([ALL, ...found]))).toEqual(new Set(['everything']));
      expect(play([ALL, ...found, ...lasting(3000, PART)]).at(-1)).toBe('part');
    }),
  );
});

it('does not tell for ever what is no longer found, although nothing else holds', () => {
  const others = Array.from({ length: 30 }, (_, n) => lost(`${n % 3}`));
  expect(play([ALL, ...others]).lastIndexOf('everything') * TICK_MS).toBe(10_000);
});
