import { nfInstances } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { chainOf } from '../testing/chains.js';
import { descriptor } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { makePlan } from './make-plan.js';

/** 4 ms a packet at 1 GHz, without base latency. */
const SLOW = ['a', 'b'].map((id) => {
  const it = descriptor(id, { cycles: 4_000_000 });
  it.implementations[0]!.cost.base_latency_us = 0;
  return it;
});

/** Two NFs of 0.4 of a core each, on servers of one core. */
const plan = (max_us: number, strategy: 'e2' | 'packing' = 'e2') =>
  makePlan({
    id: 'plan',
    created_ms: 0,
    options: { strategy },
    chains: [
      {
        chain_id: 'p-1',
        version: 1,
        definition: chainOf(
          { a: 'a', b: 'b' },
          [
            ['in', 'a'],
            ['a', 'b'],
            ['b', 'out'],
          ],
          {
            rate_bps: 100 * 8 * 800,
            slos: [{ id: 'tail', kind: 'latency', percentile: 99, max_us }],
          },
        ),
      },
    ],
    descriptors: SLOW,
    infrastructure: rack({ servers: 4, cores: 1, ghz: 1 }),
    base: null,
    budget: { steps: 50 },
  });
const about = ({ reasons }: ReturnType<typeof plan>) => reasons.filter(({ subject }) => subject === 'placement');

describe('placement for latency objectives', () => {
  it('keeps NFs together while the objective allows it', () => {
    const together = plan(1e6);
    expect(together.cost.cross_traffic_bps).toBe(0);
    expect(about(together)).toEqual([]);
  });

  it('fills cores less where a fuller core would miss the objective, and says what that costs', () => {
    const crowded = plan(1e6).slos[0]!.predicted;
    const apart = plan(crowded * 0.7);
    expect(apart.slos[0]).toMatchObject({ met: true });
    expect(apart.cost.cross_traffic_bps).toBeGreaterThan(0);
    expect(about(apart)).toMatchObject([{ part: 'placement', candidates: [{ chosen: false }, { chosen: true }] }]);
    for (const { core_share } of nfInstances(apart.graph)) expect(core_share).toBeCloseTo(0.4, 9);
  });

  it('stays with the least traffic where emptier cores do not help, and leaves strawmen alone', () => {
    const hopeless = plan(1000);
    expect(hopeless.slos[0]).toMatchObject({ met: false });
    expect(hopeless.cost.cross_traffic_bps).toBe(0);
    expect(about(hopeless)[0]!.because).toContain('would not help');
    expect(about(plan(1000, 'packing'))).toEqual([]);
  });
});
