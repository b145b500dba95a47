import { Plan, type PlannedChain } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chainOf } from '../testing/chains.js';
import { descriptor } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { makePlan } from './make-plan.js';

/** Only read, so that all of them may run at the same time; each costs about as much as its mirror and its merge. */
const READERS = ['r0', 'r1', 'r2', 'r3'].map((id) =>
  descriptor(id, { cycles: 100, state: { kind: 'none', key: [] }, affinity: [], scaling: { max_instances: 1 } }),
);
const OTHER = descriptor('other', { cycles: 1000, state: { kind: 'none', key: [] }, affinity: [] });
const DESCRIPTORS = [...READERS, OTHER];
const PACKET_BYTES = 800;
const GHZ = 2;

/** NFs in line for the traffic to a port, of which 1000 cycles a packet take this share of a core. */
function chain(name: string, nfs: readonly string[], port: number, share: number): PlannedChain {
  const ids = nfs.map((_, i) => `n${i}`);
  const drawn = chainOf(
    Object.fromEntries(nfs.map((nf, i) => [`n${i}`, nf])),
    [...ids, 'out'].map((to, i): [string, string] => [i === 0 ? 'in' : ids[i - 1]!, to]),
    { name, match: [['port.dst', 'is', port]] },
  );
  const rate_bps = share * GHZ * 1e6 * 8 * PACKET_BYTES;
  const traffic_class = { ...drawn.traffic_class, rate_bps, packet_bytes: PACKET_BYTES };
  return { chain_id: `id-${name}`, version: 1, definition: { ...drawn, traffic_class } };
}

const parallel = (length: number, share: number): PlannedChain => ({
  ...chain(
    'p',
    READERS.slice(0, length).map(({ id }) => id),
    1,
    share,
  ),
  execution: 'parallel',
});
const others = (shares: readonly number[]) =>
  shares.flatMap((share, i) => (share > 0 ? [chain(`o${i}`, ['other'], i + 2, share)] : []));

function planned(chains: readonly PlannedChain[], servers: number, cores: number, base: Plan | null): Plan {
  const infrastructure = rack({ servers, cores, ghz: GHZ, nic_bps: 1e12, link_bps: 1e12 });
  return makePlan({
    id: 'plan',
    created_ms: 0,
    chains,
    descriptors: DESCRIPTORS,
    infrastructure,
    abilities: Object.fromEntries(infrastructure.servers.map(({ id }) => [id, ['mirror', 'merge']])),
    base,
    budget: { steps: 10 },
  });
}

const joints = ({ graph }: Plan) => graph.nodes.filter((node) => node.kind === 'mirror' || node.kind === 'merge');

/** Loads before and after: 0 is a chain that is not there. */
const change = fc
  .record({ before: fc.integer({ min: 0, max: 5 }), growth: fc.constantFrom(0, 1, 2, 3, 12, -100) })
  .map(({ before, growth }) => ({ before: before / 20, after: Math.max(0, before + growth) / 20 }));
const cases = fc.record({
  servers: fc.integer({ min: 2, max: 4 }),
  cores: fc.constantFrom(1, 1, 2),
  length: fc.integer({ min: 2, max: 4 }),
  own: fc.integer({ min: 16, max: 44 }).map((n) => n / 20),
  changes: fc.array(change, { minLength: 1, maxLength: 4 }),
});

describe('mirrors and merges of a parallel chain, while other chains change', () => {
  it('stay on their cores, or the plan says that they move and which chain this interrupts', () => {
    const seen = { kept: 0, besideMoves: 0, movedServer: 0, movedCore: 0 };
    fc.assert(
      fc.property(cases, ({ servers, cores, length, own, changes }) => {
        const it = parallel(length, own);
        const base = planned([it, ...others(changes.map(({ before }) => before))], servers, cores, null);
        if (!base.feasible) return;
        const next = planned([it, ...others(changes.map(({ after }) => after))], servers, cores, base);
        if (!next.feasible) return;
        expect(Plan.safeParse(next).error?.issues ?? []).toEqual([]);
        const was = new Map(joints(base).map((node) => [node.id, node]));
        const moved = joints(next).filter(({ id, server, core }) => {
          const old = was.get(id);
          return old && (old.server !== server || old.core !== core);
        });
        const told = new Set(next.diff.moved);
        for (const { id, server } of moved) {
          expect(told).toContain(id);
          const { server: left, core } = was.get(id)!;
          const because = next.reasons.find(({ part, subject }) => part === 'placement' && subject === id)!.because;
          expect(because).toContain(`It leaves ${left}, core ${core}`);
          seen[left === server ? 'movedCore' : 'movedServer']++;
        }
        for (const { id } of joints(next)) if (!moved.some((node) => node.id === id)) expect(told).not.toContain(id);
        const interrupted = next.steps.flatMap(({ interrupts }) => interrupts);
        if (moved.length > 0) expect(interrupted).toContain(it.chain_id);
        else seen[next.diff.moved.length > 0 ? 'besideMoves' : 'kept']++;
        /** What others add or take away moves nothing. */
        const grown = changes.some(({ before, after }) => before > 0 && after > before);
        if (!grown) expect(next.diff.moved).toEqual([]);
      }),
      { numRuns: 160, seed: 5 },
    );
    expect(Math.min(...Object.values(seen)), JSON.stringify(seen)).toBeGreaterThan(0);
  });
});
