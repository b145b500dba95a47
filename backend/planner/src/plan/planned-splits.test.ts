import { FLOW_SPACE, flawOfRanges, type NfSplit, nfInstances, type Plan, type PlannedChain } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { equalRanges } from '../igraph/flow-range.js';
import { chainOf } from '../testing/chains.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { makePlan } from './make-plan.js';

const KEEP = { capacity: 100, idle_timeout_s: 5 };

/** A firewall, which the switch splits, and an IDS, which follows it unless it has ranges of its own. */
const definition = chainOf(
  { fw: 'firewall', ids: 'ids' },
  [
    ['in', 'fw'],
    ['fw', 'ids'],
    ['ids', 'out'],
  ],
  { rate_bps: 12e9 },
);

function planned(splits: NfSplit[] | undefined, base: Plan | null = null): Plan {
  const chain: PlannedChain = { chain_id: 'p-1', version: 1, definition, ...(splits ? { splits } : {}) };
  return makePlan({
    id: splits ? 'after' : 'before',
    created_ms: 0,
    chains: [chain],
    descriptors: CATALOGUE,
    infrastructure: rack({ servers: 12, cores: 8, ghz: 1, nic_bps: 1e12, link_bps: 1e12 }),
    base,
    budget: { steps: 50 },
  });
}

const before = planned(undefined);
const instancesOf = (node: string) => nfInstances(before.graph).filter(({ node_id }) => node_id === node).length;

/** Ranges of n instances, in any order, of which no one is tiny: it must fit its core. */
const rangesOf = (n: number) =>
  fc
    .tuple(
      fc.array(fc.integer({ min: 90, max: 110 }), { minLength: n, maxLength: n }),
      fc.shuffledSubarray([...Array(n).keys()], { minLength: n, maxLength: n }),
    )
    .map(([weights, order]) => {
      const all = weights.reduce((sum, weight) => sum + weight, 0);
      let lo = 0;
      const cut = weights.map((weight, i) => {
        const hi = i === n - 1 ? FLOW_SPACE : lo + Math.floor((weight / all) * FLOW_SPACE);
        const range = { lo, hi };
        lo = hi;
        return range;
      });
      return order.map((at) => cut[at]!);
    });

describe('ranges of instances', () => {
  it('are equal by default; an NF that follows another one has none', () => {
    expect(before.conflicts).toEqual([]);
    expect(instancesOf('fw')).toBeGreaterThan(2);
    expect(before.splits.map(({ node_id }) => node_id)).toEqual(['fw']);
    expect(before.splits[0]!.targets.map(({ range }) => range)).toEqual(equalRanges(instancesOf('fw')));
    expect(flawOfRanges(equalRanges(instancesOf('fw')))).toBeNull();
  });

  it('are those that are asked, at switches and engines alike, and move nothing', () => {
    fc.assert(
      fc.property(rangesOf(instancesOf('fw')), rangesOf(instancesOf('ids')), (fw, ids) => {
        const splits = [
          { node_id: 'fw', ranges: fw },
          { node_id: 'ids', ranges: ids, keep_flows: KEEP },
        ];
        const plan = planned(splits, before);
        expect(plan.conflicts).toEqual([]);
        const told = new Map(plan.splits.map((split) => [split.node_id, split]));
        expect(told.get('fw')).toMatchObject({ at: 'switch', keep_flows: null });
        expect(told.get('fw')!.targets.map(({ range }) => range)).toEqual(fw);
        expect(told.get('ids')).toMatchObject({ at: 'engine', keep_flows: KEEP });
        expect(told.get('ids')!.targets.map(({ range }) => range)).toEqual(ids);

        const classify = plan.fabric.rules.find(({ kind }) => kind === 'classify')!;
        expect(classify.targets.map(({ range }) => range)).toEqual(fw);
        const outputs = Object.values(plan.nodes).flatMap(({ instances }) =>
          instances.filter(({ node_id }) => node_id === 'fw').flatMap((it) => it.outputs),
        );
        expect(outputs).toHaveLength(fw.length);
        for (const { targets, keep_flows } of outputs) {
          expect(targets.map(({ range }) => range)).toEqual(ids);
          expect(keep_flows).toEqual(KEEP);
        }
        const { added, removed, moved } = plan.diff;
        expect({ added, removed, moved }).toEqual({ added: [], removed: [], moved: [] });
        for (const { ordinal, load_bps, node_id } of nfInstances(plan.graph)) {
          const { lo, hi } = (node_id === 'fw' ? fw : ids)[ordinal]!;
          expect(load_bps).toBeCloseTo((definition.traffic_class.rate_bps * (hi - lo)) / FLOW_SPACE, 0);
        }
      }),
      { numRuns: 15 },
    );
  });

  it('are equal again where the NF has another number of instances', () => {
    const ranges = [
      { lo: 0, hi: 1 },
      { lo: 1, hi: FLOW_SPACE },
    ];
    expect(instancesOf('ids')).not.toBe(ranges.length);
    const { splits } = planned([{ node_id: 'ids', ranges }]);
    const ids = splits.find(({ node_id }) => node_id === 'ids')!;
    expect(ids.targets.map(({ range }) => range)).toEqual(equalRanges(instancesOf('ids')));
  });

  it('make an overloaded instance infeasible, not silently slow', () => {
    const n = instancesOf('ids');
    const most = FLOW_SPACE - (n - 1);
    const ranges = Array.from({ length: n }, (_, i) =>
      i === 0 ? { lo: 0, hi: most } : { lo: most + i - 1, hi: most + i },
    );
    const plan = planned([{ node_id: 'ids', ranges }], before);
    expect(plan.feasible).toBe(false);
    expect(plan.conflicts.length).toBeGreaterThan(0);
  });
});
