import fc from 'fast-check';
import { expect, it } from 'vitest';
import { makePlan } from '../plan/make-plan.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { ClassIndex } from './class-index.js';
import { EntryRoom } from './entry-room.js';
import { firstInstances, type HeldRequest, poolChain } from './pool-chain.js';

const RACK = rack({ table_entries: 100_000 });
const POOL = {
  name: 'pool',
  title: 'Pool',
  hosts: ['client-1', 'client-2'],
  nfs: [{ nf: 'monitor', config: {}, count: 2, rate_bps: 1e6 }],
  packet_bytes: 800,
  deploys: false,
};
const INSTANCES = firstInstances(POOL);

const classes = fc.array(
  fc.record({
    from: fc.subarray(POOL.hosts, { minLength: 1 }),
    port: fc.option(fc.constantFrom<string | number>(80, 81, '80-90', '1000-1003')),
    dst: fc.option(fc.constantFrom('10.1.0.1', '10.1.0.0/30', '10.2.0.0/16')),
    proto: fc.option(fc.constantFrom('udp', 'tcp')),
    way: fc.constantFrom(1, 2),
  }),
  { minLength: 1, maxLength: 6 },
);

function entriesWith(held: readonly HeldRequest[]): number {
  const plan = makePlan({
    id: 'plan',
    created_ms: 0,
    chains: [{ chain_id: 'p-1', version: 1, definition: poolChain(POOL, INSTANCES, held) }],
    descriptors: CATALOGUE,
    infrastructure: RACK,
    base: null,
    budget: { steps: 20 },
  });
  expect(plan.conflicts).toEqual([]);
  return plan.tables[0]!.entries;
}

it('requests find exactly as much room at a switch as their classes take there in a plan', () => {
  const without = entriesWith([]);
  let refused = 0;
  fc.assert(
    fc.property(classes, fc.nat(5), (drawn, planned) => {
      const index = new ClassIndex();
      const held = drawn.flatMap(({ from, port, dst, proto, way }, i): HeldRequest[] => {
        const term = (attribute: string, value: string | number | null) =>
          value === null ? [] : [{ attribute, op: 'is' as const, value }];
        const match = [...term('port.dst', port), ...term('ip.dst', dst), ...term('ip.proto', proto)];
        const id = `r-${i}`;
        if (index.conflictOf({ id, from, match })) return [];
        index.add({ id, from, match });
        const through = { number: way, instances: [INSTANCES[way - 1]!.id] };
        return [{ id: `r-${i}`, from, match, throughput_bps: 1000, way: through }];
      });
      const [before, after] = [held.slice(0, planned), held.slice(planned)];
      const needed = entriesWith(held) - (before.length === 0 ? without : entriesWith(before));
      const takeAll = (left: number) => {
        const onWay = (it: HeldRequest) => ({ ...it, way: it.way.number });
        const room = new EntryRoom(RACK, new Map(), new Map([['switch-1', left]]));
        for (const it of before) room.has(onWay(it));
        return after.map((it) => room.take(onWay(it), false));
      };
      expect(takeAll(needed).every((it) => it === null)).toBe(true);
      if (after.length === 0) return;
      const [short] = takeAll(needed - 1).filter((it) => it !== null);
      expect(short).toMatchObject({ constraint: 'switch-table', where: 'switch-1' });
      refused++;
    }),
    { numRuns: 60, seed: 47 },
  );
  expect(refused).toBeGreaterThan(20);
});
