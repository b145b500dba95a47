import type { Plan, PlannedChain } from '@orrery/contract';
import { expect, it } from 'vitest';
import { OutOfTime } from '../budget.js';
import { chainOf } from '../testing/chains.js';
import { rack } from '../testing/infrastructure.js';
import { keepImportant } from './keep-important.js';
import { offeredBy } from './offered.js';

const chain = (name: string, priority: number): PlannedChain => {
  const definition = chainOf({ a: 'monitor' }, [
    ['in', 'a'],
    ['a', 'out'],
  ]);
  return { chain_id: name, version: 1, definition: { ...definition, name, priority } };
};

/** The objective of `first` is met only while `second` does not run. */
const made = (chains: readonly PlannedChain[]): Plan => {
  const ids = chains.map(({ chain_id }) => chain_id);
  const met = !ids.includes('second');
  const slo = {
    chain_id: 'first',
    slo_id: 'fast',
    kind: 'latency',
    target: 10,
    predicted: met ? 9 : 11,
    unit: 'us',
    met,
  };
  const slos = ids.includes('first') ? [slo] : [];
  return { chains, feasible: true, slos, reasons: [], conflicts: [], problems: [] } as unknown as Plan;
};

const planned = (first: number, second: number, base: Plan | null = null) => {
  const chains = [chain('second', second), chain('first', first)];
  const infrastructure = rack();
  const input = { id: 'p', created_ms: 0, chains, descriptors: [], infrastructure, base, budget: { steps: 1 } };
  return keepImportant(offeredBy(input), (some) => made(some.chains));
};

it('leaves out a chain rather than miss an objective of a more important one', () => {
  expect(planned(90, 10).not_kept).toEqual([
    {
      chain_id: 'second',
      slo_id: null,
      priority: 10,
      because: 'With it, first, which is more important, would miss its objective fast.',
      constraint: { constraint: 'latency', needed: 11, available: 10, unit: 'us', where: 'first, fast' },
    },
  ]);
});

it('keeps a chain that costs an objective of one that is not more important, and tells that', () => {
  for (const second of [50, 90]) {
    const base = made([chain('first', 50)]);
    const plan = planned(50, second, base);
    expect(plan.chains).toHaveLength(2);
    expect(plan.not_kept).toMatchObject([{ chain_id: 'first', slo_id: 'fast', constraint: { constraint: 'latency' } }]);
    expect(planned(50, second).not_kept).toBeUndefined();
  }
});

it('takes down nothing for an objective that is missed as things are', () => {
  const base = made([chain('second', 10), chain('first', 90)]);
  const plan = planned(90, 10, base);
  expect(plan.chains).toHaveLength(2);
  expect(plan.not_kept).toBeUndefined();
});

it('takes down no running chain only because there was no time to try it', () => {
  const chains = [chain('first', 90), chain('second', 10), chain('third', 5)];
  const input = { id: 'p', created_ms: 0, chains, descriptors: [], infrastructure: rack(), budget: { steps: 1 } };
  const tried = (base: Plan | null) =>
    keepImportant(offeredBy({ ...input, base }), (some) => {
      if (some.chains.length === 2) throw new OutOfTime();
      return { ...made(some.chains), feasible: some.chains.length < 3, slos: [] };
    });
  expect(tried(null).not_kept?.map(({ chain_id }) => chain_id)).toEqual(['first', 'second']);
  expect(() => tried(made([chain('second', 10)]))).toThrow(OutOfTime);
});
