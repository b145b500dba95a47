import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chainOf } from '../testing/chains.js';
import { descriptor } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { makePlan } from './make-plan.js';

const NF = (max_instances: number, memory_bytes: number) =>
  descriptor('box', { cycles: 1000, memory_bytes, scaling: { max_instances } });

describe('one server more', () => {
  it('never makes a plan impossible, however slow it is', () => {
    const seen = { feasible: 0, slower: 0 };
    fc.assert(
      fc.property(
        fc.record({
          clocks: fc.array(fc.constantFrom(1, 2, 3), { minLength: 1, maxLength: 3 }),
          joins: fc.constantFrom(0.1, 0.5, 1, 2, 3),
          cores: fc.integer({ min: 1, max: 2 }),
          most: fc.integer({ min: 1, max: 4 }),
          memory: fc.constantFrom(1e6, 6e8),
          share: fc.integer({ min: 1, max: 50 }).map((n) => n / 10),
        }),
        ({ clocks, joins, cores, most, memory, share }) => {
          const all = rack({ servers: clocks.length + 1, cores });
          const servers = all.servers.map((it, i) => ({ ...it, ghz: clocks[i] ?? joins }));
          const definition = chainOf(
            { a: 'box', b: 'box' },
            [
              ['in', 'a'],
              ['a', 'b'],
              ['b', 'out'],
            ],
            { rate_bps: share * 1e6 * 8 * 800 },
          );
          const made = (count: number) =>
            makePlan({
              id: 'plan',
              created_ms: 0,
              chains: [{ chain_id: 'p-1', version: 1, definition }],
              descriptors: [NF(most, memory)],
              infrastructure: { ...all, servers: servers.slice(0, count) },
              base: null,
              budget: { steps: 5 },
            });
          const before = made(clocks.length);
          if (!before.feasible) return;
          seen.feasible++;
          if (joins < Math.min(...clocks)) seen.slower++;
          expect(made(clocks.length + 1).conflicts).toEqual([]);
        },
      ),
      { numRuns: 120, seed: 43 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(10);
  });
});
