import { type ChainDefinition, type NfDescriptor, nfInstances, Plan, type SwitchAbilities } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makePlan } from '../plan/make-plan.js';
import { arbitraryChain, arbitraryPacket } from '../testing/arbitrary.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import type { Packet } from '../testing/packets.js';
import { walkDefinition, walkPlan, walkReply } from '../testing/walk.js';
import { ASSUMED_ABILITIES } from './switch/abilities.js';

const BLIND = { ...ASSUMED_ABILITIES, groups: { ...ASSUMED_ABILITIES.groups, select: [] } };

const AFFINITIES: NfDescriptor['affinity'][] = [
  [],
  ['ip.src'],
  ['ip.src', 'ip.dst'],
  ['ip.src', 'ip.dst', 'ip.proto', 'port.src', 'port.dst'],
];

/** The catalogue with affinities drawn anew. NAT keeps a host at one instance. */
const catalogues = fc
  .array(fc.constantFrom(...AFFINITIES), { minLength: CATALOGUE.length, maxLength: CATALOGUE.length })
  .map((affinities) =>
    CATALOGUE.map((descriptor, i) => ({
      ...descriptor,
      affinity: descriptor.id === 'nat' ? (['ip.src'] as NfDescriptor['affinity']) : affinities[i]!,
    })),
  );

function hasDirectWays({ reasons }: Plan): boolean {
  return reasons.some(({ because }) => because.includes('figure 3.3 d'));
}

function hasFrontSplits({ graph }: Plan): boolean {
  return graph.nodes.some(({ kind }) => kind === 'split');
}

const shape = { nfs: ['ids', 'ids', 'ids', 'monitor', 'firewall', 'nat'], maxNodes: 6, exact: true } as const;

const cases = fc.record({
  definition: arbitraryChain(shape),
  /** Runs first and stays while the other is added; from another host. */
  neighbour: arbitraryChain(shape, 'q'),
  descriptors: catalogues,
  packets: fc.array(arbitraryPacket, { minLength: 30, maxLength: 30 }),
  verdictSeed: fc.nat(),
  /** Up to several cores' worth for each NF, at 1,000 cycles per packet of 800 bytes and 1 GHz. */
  rate_bps: fc.constantFrom(1e6, 4e9, 12e9, 12e9),
  strategy: fc.constantFrom('e2', 'first-fit', 'random' as const),
  cores: fc.integer({ min: 1, max: 6 }),
  seed: fc.nat(),
});

describe('a packet carried through the emitted specs and rules', () => {
  it.each<[string, SwitchAbilities, (plan: Plan) => boolean, number]>([
    ['switch', ASSUMED_ABILITIES, hasDirectWays, 300],
    ['switch that shares out no flows', BLIND, hasFrontSplits, 120],
  ])('passes the nodes that the DAG says, and equal affinity keys meet one instance, behind a %s', (...given) => {
    const [, able, isTold, numRuns] = given;
    const seen = { plans: 0, crossings: 0, splits: 0, replies: 0, told: 0 };
    fc.assert(
      fc.property(cases, ({ packets, verdictSeed, rate_bps, descriptors, cores, ...drawn }) => {
        const from = (host: string, it: ChainDefinition): ChainDefinition => ({
          ...it,
          traffic_class: { ...it.traffic_class, from: [host], rate_bps },
        });
        const neighbour = { chain_id: 'p-2', version: 1, definition: from('client-2', drawn.neighbour) };
        const definition = from('client-1', drawn.definition);
        const input = {
          id: 'plan',
          created_ms: 0,
          options: { strategy: drawn.strategy, seed: drawn.seed },
          descriptors,
          infrastructure: rack({ servers: 12, cores, ghz: 1, nic_bps: 1e12, link_bps: 1e12 }),
          switches: new Map([['switch-1', able]]),
          budget: { steps: 50 },
        };
        const base = makePlan({ ...input, chains: [neighbour], base: null });
        fc.pre(base.feasible);
        const plan = makePlan({
          ...input,
          chains: [neighbour, { chain_id: 'p-1', version: 1, definition }],
          base,
        });
        fc.pre(plan.feasible);
        expect(() => Plan.parse(plan)).not.toThrow();
        seen.plans++;
        if (
          nfInstances(plan.graph).length > new Set(nfInstances(plan.graph).map((instance) => instance.pgraph_node)).size
        )
          seen.splits++;
        if (isTold(plan)) seen.told++;
        const met = new Map<string, string>();
        const walked = [definition, neighbour.definition].flatMap((it) => packets.map((start) => ({ it, start })));
        walked.forEach(({ it, start }, n) => {
          const [host] = it.traffic_class.from;
          const verdicts = (node: string) => ((verdictSeed + n * 7 + node.charCodeAt(1)) % 3 === 0 ? 'unsafe' : 'safe');
          const nodes = walkDefinition(it, descriptors, start, verdicts);
          const walk = walkPlan(plan, host!, start, verdicts);
          const passed = walk.passed.map(({ instance }) => instance.node_id);
          expect(walk.end === 'dropped' ? [...passed, null] : passed).toEqual(nodes);
          seen.crossings += walk.crossings;
          for (const { instance, packet } of walk.passed) {
            const { affinity } = descriptors.find(({ id }) => id === instance.nf)!;
            if (affinity.length === 0) continue;
            const key = JSON.stringify([
              it.name,
              instance.node_id,
              affinity.map((field) => packet[field as keyof Packet]),
            ]);
            expect(met.get(key) ?? instance.id).toBe(instance.id);
            met.set(key, instance.id);
          }
          const translators = walk.passed.filter(({ instance }) => instance.return_to);
          const last = translators.at(-1);
          if (!last) return;
          seen.replies++;
          expect(walkReply(plan, walk.packet['ip.src'])?.id).toBe(last.instance.id);
        });
      }),
      { numRuns },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(10);
  });
});
