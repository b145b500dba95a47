import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isMissed, recovery, secondsMissed, serverToCut } from './judgement.js';

it('counts the seconds in which an objective was missed, each up to the next look', () => {
  const looks = [false, true, true, false, true].map((missed, i) => ({ s: [0, 1, 3, 3.5, 5][i]!, missed }));
  expect(secondsMissed(looks)).toBe(2.5);
  expect(secondsMissed([...looks, { s: 7, missed: false }])).toBe(4.5);
  expect(secondsMissed([])).toBe(0);
});

it('misses what is measured worse while it warms up', () => {
  const missed = (
    kind: 'loss' | 'availability',
    state: 'warming-up' | 'violated' | 'no-data',
    measured: number | null,
  ) => isMissed({ kind, state, measured, target: 0.5 });
  expect([missed('loss', 'warming-up', 0.6), missed('loss', 'warming-up', 0.4)]).toEqual([true, false]);
  expect([missed('availability', 'warming-up', 0.4), missed('availability', 'warming-up', 0.6)]).toEqual([true, false]);
  expect([
    missed('loss', 'violated', null),
    missed('loss', 'no-data', null),
    missed('loss', 'warming-up', null),
  ]).toEqual([true, false, false]);
});

it('counts all of the time or nothing where all looks agree, whenever they were', () => {
  const gaps = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(gaps, fc.boolean(), (between, missed) => {
      const looks = between.map((_, i) => ({ s: between.slice(0, i + 1).reduce((sum, gap) => sum + gap, 0), missed }));
      expect(secondsMissed(looks)).toBe(missed ? looks.at(-1)!.s - looks[0]!.s : 0);
    }),
  );
});

const FAULT_S = 10;
/** Rates of each second, from the first on. */
const rates = (...values: number[]): [number, number][] => values.map((value, s) => [s + 0.3, value]);
const flat = (seconds: number, value: number) => Array.from({ length: seconds }, () => value);

it('tells when a chain carries again after a fault', () => {
  const offered = rates(...flat(30, 100));
  const after = (...values: number[]) => recovery(rates(...flat(10, 100), ...values), offered, FAULT_S);
  expect(after(80, 0, 0, 0, 20, 60, 100)).toBeCloseTo(5.3);
  expect(after(10, 0, 0, 0, 0)).toBeNull();
  expect(after(100, 100, 100, 100)).toBeCloseTo(2.3);
  expect(recovery([], offered, FAULT_S)).toBeNull();
});

it('asks for no more than is offered then, and takes silence for no recovery', () => {
  const delivered = rates(...flat(10, 100), ...flat(8, 0), ...flat(4, 15), ...flat(4, 0));
  const falling = rates(...flat(15, 100), ...flat(11, 20));
  expect(recovery(delivered, falling, FAULT_S)).toBeCloseTo(8.3);
  expect(recovery(rates(...flat(10, 100), ...flat(9, 0)), rates(...flat(12, 100), ...flat(7, 0)), FAULT_S)).toBeNull();
});

it('cuts off the server of the NF alone where there is one, and in the next round as in the first', () => {
  const at = (node_id: string, server: string) => ({ node_id, server });
  const [front, own, other] = [at('fw', 'a'), at('ids', 'a'), at('ids', 'b')];
  const cut = (instances: { node_id: string; server: string }[], together: boolean | null) =>
    serverToCut(instances, 'ids', 'fw', together);
  expect(cut([front, own], null)).toEqual({ server: 'a', together: true });
  expect(cut([front, own, other], null)).toEqual({ server: 'b', together: false });
  expect(cut([front, own, other], true)).toEqual({ server: 'a', together: true });
  expect(cut([front, other], true)).toEqual({ server: 'b', together: false });
  expect(cut([front], null)).toBeNull();
});
