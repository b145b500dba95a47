import fc from 'fast-check';
import { expect, it } from 'vitest';
import { chainOf } from '../testing/chains.js';
import { descriptor } from '../testing/descriptors.js';
import { costFactor, learntFrom, timesFactor } from './learn.js';

const CHAIN = chainOf({ a: 'nf' }, [
  ['in', 'a'],
  ['a', 'out'],
]);

it('finds the cost again that packets have, whatever their lengths and up to a third of outliers', () => {
  const cost = fc.record({ packet: fc.integer({ min: 10, max: 100_000 }), byte: fc.integer({ min: 0, max: 100 }) });
  const lengths = fc.array(fc.integer({ min: 60, max: 1500 }), { minLength: 30, maxLength: 60 });
  fc.assert(
    fc.property(cost, fc.double({ min: 0.1, max: 10, noNaN: true }), lengths, ({ packet, byte }, times, bytes) => {
      const nf = descriptor('nf');
      const [software] = nf.implementations;
      const declared = { ...software!.cost, cycles_per_packet: packet, cycles_per_byte: byte };
      const described = { ...nf, implementations: [{ ...software!, cost: declared }] };
      const factors = bytes.map((packet_bytes, i) => {
        const cycles = (packet + byte * packet_bytes) * times * (i % 3 === 2 ? 5 : 1);
        return costFactor(described, 'engine', CHAIN, 'a', { cycles, packet_bytes });
      });
      const found = learntFrom(factors)!;
      expect(found.factor).toBeCloseTo(times, 6);
      expect(found.refusal).toBeNull();
      expect(timesFactor(declared, found.factor).cycles_per_byte).toBeCloseTo(byte * times, 3);
    }),
  );
});

it('refuses too few samples, and samples that differ too much', () => {
  expect(learntFrom([])).toBeNull();
  expect(learntFrom(Array(29).fill(2))!.refusal).toMatch('29 samples');
  expect(learntFrom(Array(30).fill(2))!.refusal).toBeNull();
  expect(learntFrom(Array.from({ length: 40 }, (_, i) => 1 + i))!.refusal).toMatch('differ by');
  expect(learntFrom(Array(40).fill(5000))!.refusal).toMatch('too far');
});
