import { type NfSplit, nfInstances, type OutputSpec, type Plan, type PlannedChain } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drainedRanges, scaledRanges } from '../igraph/scaled-ranges.js';
import { chainOf } from '../testing/chains.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { makePlan } from './make-plan.js';

/** A light firewall in front of an IDS, of which one instance is enough by the estimate. */
const definition = chainOf(
  { fw: 'firewall', ids: 'ids' },
  [
    ['in', 'fw'],
    ['fw', 'ids'],
    ['ids', 'out'],
  ],
  { rate_bps: 1e8 },
);
const infrastructure = rack({ servers: 4, cores: 3, ghz: 1, nic_bps: 1e12, link_bps: 1e12 });

function planned(split: Omit<NfSplit, 'node_id'> | null, base: Plan | null, id = 'plan', rate_bps = 1e8): Plan {
  const traffic_class = { ...definition.traffic_class, rate_bps };
  const chain: PlannedChain = { chain_id: 'p-1', version: 1, definition: { ...definition, traffic_class } };
  return makePlan({
    id,
    created_ms: 0,
    chains: [split ? { ...chain, splits: [{ node_id: 'ids', ...split }] } : chain],
    descriptors: CATALOGUE,
    infrastructure,
    base,
    budget: { steps: 50 },
  });
}

const idsOf = ({ graph }: Plan) =>
  nfInstances(graph)
    .filter(({ node_id }) => node_id === 'ids')
    .toSorted((a, b) => a.ordinal - b.ordinal);
const rangesIn = (plan: Plan) =>
  plan.splits.find(({ node_id }) => node_id === 'ids')?.targets.map(({ range }) => range);

/** By instance in front: what leads from it to the IDS, and to which instance each target leads. */
function waysTo(plan: Plan): Map<string, { output: OutputSpec; leads: string[] }> {
  const hops = new Map(plan.graph.edges.flatMap(({ hop, to }) => (hop === null ? [] : [[hop, to] as const])));
  return new Map(
    Object.values(plan.nodes).flatMap(({ instances }) =>
      instances
        .filter(({ node_id }) => node_id === 'fw')
        .map(({ id, outputs: [output] }) => {
          const leads = output!.targets.map(({ to }) =>
            to.kind === 'instance' ? to.instance_id : hops.get((to as { hop: number }).hop)!,
          );
          return [id, { output: output!, leads }] as const;
        }),
    ),
  );
}

describe('a number of instances that was asked for', () => {
  it('is planned whatever the load needs, also again, each on a core of its own, and what runs never moves', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }), (counts) => {
        let base = planned(null, null);
        expect(idsOf(base)).toHaveLength(1);
        for (const [i, instances] of counts.entries()) {
          const ranges = scaledRanges(rangesIn(base) ?? [], instances);
          const split = { instances, ...(instances > 1 ? { ranges } : {}) };
          const plan = planned(split, base, `plan-${i}`);
          expect(plan.conflicts).toEqual([]);
          expect(idsOf(plan)).toHaveLength(instances);
          const places = idsOf(plan).map(({ server, core }) => `${server} ${core}`);
          expect(new Set(places).size).toBe(instances);
          expect(plan.diff.moved).toEqual([]);
          for (const was of idsOf(base)) {
            const is = idsOf(plan).find(({ id }) => id === was.id);
            if (was.ordinal < instances) expect([is?.server, is?.core]).toEqual([was.server, was.core]);
            else expect(is).toBeUndefined();
          }
          const reason = plan.reasons.find(({ part, subject }) => part === 'sizing' && subject === 'p.ids');
          expect(reason?.because).toContain('asked for');
          // A plan of something else keeps it.
          expect(idsOf(planned(split, plan, 'again', 2e8))).toHaveLength(instances);
          base = plan;
        }
      }),
      { numRuns: 12 },
    );
  });

  it('puts one new instance where the least traffic crosses, by trying every server', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), (instances) => {
        const base = planned({ instances, ...(instances > 1 ? { ranges: scaledRanges([], instances) } : {}) }, null);
        const ranges = scaledRanges(rangesIn(base) ?? [], instances + 1);
        const plan = planned({ instances: instances + 1, ranges }, base);
        const fresh = idsOf(plan).at(-1)!;
        const others = nfInstances(plan.graph).filter(({ id }) => id !== fresh.id);
        const beside = plan.graph.edges.filter(({ from, to }) => from === fresh.id || to === fresh.id);
        const crossing = (server: string) =>
          beside.reduce((sum, { from, to, rate_bps }) => {
            const other = others.find(({ id }) => id === (from === fresh.id ? to : from));
            return other && other.server !== server ? sum + rate_bps : sum;
          }, 0);
        const load = new Map<string, number>();
        for (const { server, core, core_share } of others)
          load.set(`${server} ${core}`, (load.get(`${server} ${core}`) ?? 0) + core_share);
        const able = infrastructure.servers.filter(({ id, cores }) =>
          Array.from({ length: cores }, (_, core) => core).some(
            (core) =>
              (load.get(`${id} ${core}`) ?? 0) + fresh.core_share <= 0.85 &&
              !others.some((it) => it.node_id === 'ids' && it.server === id && it.core === core),
          ),
        );
        const least = Math.min(...able.map(({ id }) => crossing(id)));
        expect(crossing(fresh.server)).toBeCloseTo(least, 3);
      }),
      { numRuns: 5 },
    );
  });

  it('is told to lose state where flows are not tracked, or follow the ranges', () => {
    const losing = (split: Omit<NfSplit, 'node_id'>, base: Plan) =>
      planned({ instances: 2, ...split }, base).problems.map(({ code, node }) => [code, node]);
    const told = [['flow-state-lost', 'ids']];
    const waived = { keep_flows: null };
    expect(losing({}, planned(null, null))).toEqual(told);
    expect(losing({}, planned({ instances: 1 }, null))).toEqual([]);
    expect(losing(waived, planned({ instances: 1, ...waived }, null))).toEqual(told);
    expect(losing(waived, planned({ instances: 1 }, null))).toEqual(told);
  });

  it('is refused above what the NF allows', () => {
    const most = CATALOGUE.find(({ id }) => id === 'ids')!.scaling.max_instances;
    const plan = planned({ instances: most + 1 }, null);
    expect(plan.feasible).toBe(false);
    expect(plan.conflicts).toMatchObject([{ constraint: 'max-instances', needed: most + 1, available: most }]);
  });

  it('has no flow in progress change its instance, unless its instance goes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 5 }),
        fc.array(fc.nat({ max: 65_535 }), { minLength: 20, maxLength: 60 }),
        (counts, hashes) => {
          /** What the engine in front tracks: by flow, the instance that got its first packet. */
          const met = new Map<number, string>();
          const send = (plan: Plan, flows: readonly number[]) => {
            const [{ output, leads }] = [...waysTo(plan).values()] as [{ output: OutputSpec; leads: string[] }];
            expect(output.keep_flows).toBeDefined();
            expect(output.key.length).toBeGreaterThan(0);
            for (const hash of flows) {
              const kept = met.get(hash);
              // Tracked flows stay with the target that leads where theirs led, if there is one.
              if (kept !== undefined && leads.includes(kept)) continue;
              const at = output.targets.findIndex(({ range }) => range.lo <= hash && hash < range.hi);
              met.set(hash, leads[at]!);
            }
          };
          let base = planned({ instances: 1 }, null);
          let sent = 0;
          const next = (count: number) => {
            sent += count;
            return hashes.slice(0, sent);
          };
          send(base, next(10));
          const key = [...waysTo(base).values()][0]!.output.key;
          for (const [i, instances] of counts.entries()) {
            const before = new Map(met);
            const now = rangesIn(base) ?? [];
            if (instances < idsOf(base).length) {
              const drained = planned(
                { instances: now.length, ranges: drainedRanges(now, instances) },
                base,
                `drain-${i}`,
              );
              expect(drained.diff.removed).toEqual([]);
              send(drained, next(3));
              for (const [hash, instance] of before) expect(met.get(hash)).toBe(instance);
              base = drained;
            }
            const ranges = scaledRanges(now, instances);
            const plan = planned({ instances, ...(instances > 1 ? { ranges } : {}) }, base, `plan-${i}`);
            expect([...waysTo(plan).values()][0]!.output.key).toEqual(key);
            const gone = idsOf(base).length > instances;
            expect(plan.problems.map(({ code, message }) => [code, message.includes('without a successor')])).toEqual(
              gone ? [['flow-state-lost', true]] : [],
            );
            const stays = new Set(idsOf(plan).map(({ id }) => id));
            send(plan, next(3));
            for (const [hash, instance] of before) if (stays.has(instance)) expect(met.get(hash)).toBe(instance);
            base = plan;
          }
        },
      ),
      { numRuns: 15 },
    );
  });
});
