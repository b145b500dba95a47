import { lineageOf, nfInstances, type Plan, type PlannedChain } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CORE_BUDGET } from '../igraph/sizing.js';
import { chainOf } from '../testing/chains.js';
import { descriptor } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { makePlan } from './make-plan.js';

const DESCRIPTORS = [descriptor('wide'), descriptor('one', { scaling: { max_instances: 1 } })];
const PACKET_BYTES = 800;

/** One stateful NF for the traffic to a port of its own that needs so many GHz. */
function chain(i: number, nf: 'wide' | 'one', load_ghz: number): PlannedChain {
  const drawn = chainOf(
    { a: nf },
    [
      ['in', 'a'],
      ['a', 'out'],
    ],
    { name: `c${i}`, match: [['port.dst', 'is', i + 1]] },
  );
  const traffic_class = {
    ...drawn.traffic_class,
    rate_bps: load_ghz * 1e6 * 8 * PACKET_BYTES,
    packet_bytes: PACKET_BYTES,
  };
  return { chain_id: `id-${i}`, version: 1, definition: { ...drawn, traffic_class } };
}

type Server = readonly [cores: number, ghz: number];

function servers(those: readonly Server[]) {
  const all = rack({ servers: those.length });
  return { ...all, servers: all.servers.map((it, i) => ({ ...it, cores: those[i]![0], ghz: those[i]![1] })) };
}

function planned(chains: readonly PlannedChain[], those: readonly Server[], base: Plan | null = null): Plan {
  const infrastructure = servers(those);
  return makePlan({
    id: 'plan',
    created_ms: 0,
    chains,
    descriptors: DESCRIPTORS,
    infrastructure,
    base,
    budget: { steps: 10 },
  });
}

const instancesOf = ({ graph }: Plan, chainId: string) =>
  nfInstances(graph)
    .filter(({ chain_id }) => chain_id === chainId)
    .map(({ id }) => lineageOf(id));

/** Whether a core has room for another load beside what runs. */
function hasRoom({ graph }: Plan, those: readonly Server[], load_ghz: number): boolean {
  return those.some(([cores, ghz], s) =>
    Array.from({ length: cores }, (_, core) => core).some((core) => {
      const here = nfInstances(graph).filter((it) => it.server === `server-${s + 1}` && it.core === core);
      const used = here.reduce((sum, { core_share }) => sum + core_share, 0);
      return used + load_ghz / ghz <= CORE_BUDGET;
    }),
  );
}

const server = fc.tuple(fc.integer({ min: 1, max: 2 }), fc.constantFrom(1, 2, 2.5));
const load = fc.integer({ min: 1, max: 24 }).map((n) => n / 8);

describe('a change elsewhere', () => {
  it('adds and removes no instances of a running chain that can keep them, and names what loses its flow state', () => {
    const seen = { kept: 0, several: 0, slower: 0 };
    fc.assert(
      fc.property(
        fc.array(server, { minLength: 1, maxLength: 3 }),
        fc.array(load, { minLength: 1, maxLength: 2 }),
        load,
        fc.tuple(fc.integer({ min: 1, max: 2 }), fc.constantFrom(0.5, 1)),
        fc.constantFrom('add', 'remove', 'server'),
        (those, loads, other, slow, change) => {
          const stay = loads.map((ghz, i) => chain(i, 'wide', ghz));
          const one = chain(9, 'one', other);
          const base = planned(change === 'remove' ? [...stay, one] : stay, those);
          if (!base.feasible) return;
          const next = planned(
            change === 'add' ? [...stay, one] : stay,
            change === 'server' ? [...those, slow] : those,
            base,
          );
          if (!next.feasible) {
            expect(change).toBe('add');
            return;
          }
          const keeps = change !== 'add' || hasRoom(base, those, other);
          for (const { chain_id } of stay) {
            const [before, after] = [instancesOf(base, chain_id), instancesOf(next, chain_id)];
            if (keeps) expect(after).toEqual(before);
            const warned = next.problems.filter((it) => it.code === 'flow-state-lost' && it.chain_id === chain_id);
            expect(warned).toHaveLength(after.length === before.length ? 0 : 1);
            const gone = before.filter((id) => !after.includes(id));
            for (const id of gone) expect(warned[0]!.message).toContain(id);
            if (warned.length === 0) seen.kept++;
            if (before.length > 1) seen.several++;
          }
          if (change === 'server' && slow[1] < Math.min(...those.map(([, ghz]) => ghz))) seen.slower++;
        },
      ),
      { numRuns: 150, seed: 47 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(5);
  });

  it('keeps the instances that a chain has, though it would be sized for another clock now', () => {
    const [a, b] = [chain(0, 'wide', 1.5), chain(1, 'one', 1.5)];
    const both: Server[] = [
      [2, 2],
      [1, 1],
    ];
    const withBoth = planned([a, b], both);
    expect(planned([a], both, withBoth).diff).toMatchObject({ added: [], removed: ['c1.a.0'], kept: ['c0.a.0'] });
    const alone = planned([a], both.slice(0, 1));
    expect(planned([a], both, alone).diff).toMatchObject({ added: [], removed: [], kept: ['c0.a.0'] });
  });

  it('names what loses its flow state where another chain leaves no room for as many instances', () => {
    const those: Server[] = [
      [2, 2],
      [1, 1],
    ];
    const alone = planned([chain(0, 'wide', 1.5)], those);
    const next = planned([chain(0, 'wide', 1.5), chain(1, 'one', 1.5)], those, alone);
    expect(next).toMatchObject({
      feasible: true,
      diff: { removed: ['c0.a.1'] },
      problems: [{ chain_id: 'id-0', message: 'the flow state in c0.a.1 is lost: it is removed without a successor' }],
    });
  });

  it('is not what a chain with more load of its own is: the plan says which flows lose their state', () => {
    const infrastructure: Server[] = [[4, 2]];
    const before = planned([chain(0, 'wide', 1)], infrastructure);
    const grown = planned([chain(0, 'wide', 3)], infrastructure, before);
    expect(grown.problems).toEqual([
      {
        chain_id: 'id-0',
        code: 'flow-state-lost',
        severity: 'warning',
        message: 'flows come to c0.a.1 without the state that they have elsewhere',
        pointer: '/nodes/1',
        node: 'a',
      },
    ]);
    expect(planned([chain(0, 'wide', 1)], infrastructure, grown).problems).toMatchObject([
      { message: 'the flow state in c0.a.1 is lost: it is removed without a successor' },
    ]);
  });
});
