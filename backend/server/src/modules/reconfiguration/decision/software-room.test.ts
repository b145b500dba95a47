import type { Infrastructure, NfDescriptor, Plan } from '@orrery/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { softwareRoom } from './software-room.js';

const NF = { chain_id: 'ch-1', node_id: 'nat' };
const DESCRIPTOR = {
  implementations: [
    { kind: 'software', driver: 'engine', cost: { cycles_per_packet: 100, cycles_per_byte: 1 } },
    { kind: 'board', driver: 'board', cost: { cycles_per_packet: 1, cycles_per_byte: 0 } },
  ],
} as unknown as NfDescriptor;
const SERVERS = { servers: [{ id: 'server-1', ghz: 2 }] } as unknown as Infrastructure;

const instance = (id: string, node_id: string, core_share: number, driver = 'engine') => ({
  ...{ kind: 'nf', chain_id: 'ch-1', id, node_id, core_share, driver, server: 'server-1', core: 0 },
});
const planOf = (...nodes: ReturnType<typeof instance>[]) => ({ graph: { nodes, edges: [] } }) as unknown as Plan;

it('compares the measured load, not its estimate, with what the other NFs leave of the core', () => {
  const plan = planOf(instance('nat.0', 'nat', 0.01), instance('fw.0', 'fw', 0.35));
  const room = softwareRoom(plan, NF, { pps: 1e6, bps: 8e8 }, DESCRIPTOR, SERVERS)!;
  expect(room.needed).toBe(2e8);
  expect(room.available).toBeCloseTo(0.5 * 2e9);
});

it('grows with load, and never counts what others use', () => {
  const share = fc.double({ min: 0, max: 0.85, noNaN: true });
  fc.assert(
    fc.property(share, fc.integer({ min: 0, max: 1e8 }), fc.integer({ min: 0, max: 1e8 }), (used, one, more) => {
      const plan = planOf(instance('nat.0', 'nat', 0), instance('fw.0', 'fw', used));
      const of = (pps: number) => softwareRoom(plan, NF, { pps, bps: 0 }, DESCRIPTOR, SERVERS)!;
      expect(of(one + more).needed).toBeGreaterThanOrEqual(of(one).needed);
      expect(of(one).available).toBeLessThanOrEqual((0.85 - used) * 2e9 + 1);
    }),
  );
});

it('says nothing of an NF that stays on a board', () => {
  const plan = planOf(instance('nat.b', 'nat', 0, 'board'));
  expect(softwareRoom(plan, NF, { pps: 1, bps: 1 }, DESCRIPTOR, SERVERS)).toBeNull();
});
