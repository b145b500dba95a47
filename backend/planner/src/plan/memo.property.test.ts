import type { PlannedChain } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Memo } from '../memo.js';
import { ofOwnPort } from '../testing/chains.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { FreezingMemo } from '../testing/freezing-memo.js';
import { rack } from '../testing/infrastructure.js';
import type { PlanInput } from './input.js';
import { makePlan } from './make-plan.js';

const SERVERS = rack({ servers: 4, cores: 4, ghz: 2, nic_bps: 1e10, link_bps: 1e10 });

describe('a plan', () => {
  it('is the same with parts of earlier plans as without', () => {
    const change = fc.record({
      chain: fc.nat(4),
      rate_bps: fc.constantFrom(0, 2e8, 1e9, 3e9),
      there: fc.boolean(),
      ghz: fc.constantFrom(2, 3),
      ids_cycles: fc.constantFrom(0, 500),
      chaining: fc.constantFrom('hyper' as const, 'random' as const),
    });
    fc.assert(
      fc.property(fc.array(change, { minLength: 2, maxLength: 6 }), fc.constantFrom(8, 500), (changes, most) => {
        const memo = new FreezingMemo(most);
        const chains = new Map<number, PlannedChain>();
        let base: PlanInput['base'] = null;
        for (const [version, it] of changes.entries()) {
          if (it.there) chains.set(it.chain, ofOwnPort(it.chain, it.rate_bps, version));
          else chains.delete(it.chain);
          const input: PlanInput = {
            id: 'plan',
            created_ms: 0,
            options: { chaining: it.chaining },
            chains: [...chains.values()],
            descriptors: CATALOGUE.map((nf) => (nf.id === 'ids' ? slower(nf, it.ids_cycles) : nf)),
            infrastructure: { ...SERVERS, servers: SERVERS.servers.map((server) => ({ ...server, ghz: it.ghz })) },
            base,
            budget: { steps: 20 },
          };
          const plan = makePlan({ ...input, memo });
          expect(plan).toEqual(makePlan(input));
          if (plan.feasible) base = structuredClone(plan);
        }
      }),
      { numRuns: 12 },
    );
  });

  it('does not take over what an earlier plan left out for lack of time', () => {
    const memo = new Memo(100);
    const input = { id: 'plan', created_ms: 0, chains: [ofOwnPort(0, 1e9, 1)], descriptors: CATALOGUE, base: null };
    const late = makePlan({ ...input, infrastructure: SERVERS, memo, budget: { steps: 1, late: () => true } });
    const whole = { ...input, infrastructure: SERVERS, budget: { steps: 1 } };
    expect(makePlan({ ...whole, memo })).toEqual(makePlan(whole));
    expect(late.schedules).toEqual([]);
  });
});

function slower(nf: (typeof CATALOGUE)[number], cycles: number): (typeof CATALOGUE)[number] {
  return {
    ...nf,
    implementations: nf.implementations.map((it) => ({
      ...it,
      cost: { ...it.cost, cycles_per_packet: it.cost.cycles_per_packet + cycles },
    })),
  };
}
