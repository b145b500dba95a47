import type { Plan } from '@orrery/contract';
import { expect, it } from 'vitest';
import { PolicyRules } from './policy-rules.js';

const NF = { chain_id: 'ch-1', node_id: 'nat' };
const COST = { cycles_per_packet: 100, cycles_per_byte: 0 };
/** A packet costs what its configuration says. */
const CHAIN = { chain_id: 'ch-1', definition: { nodes: [{ id: 'nat', kind: 'nf', nf: 'nat', config: { us: 5 } }] } };
const PLAN = {
  chains: [CHAIN],
  graph: {
    nodes: [
      { kind: 'nf', ...NF, id: 'nat.0', nf: 'nat', driver: 'engine', server: 'server-1', core: 0, core_share: 0 },
    ],
  },
} as unknown as Plan;

/** Cores of 1 GHz carry 8.5 million packets per second. */
function rulesAt(pps: number | null, cost: object = COST, policies: readonly object[] = []): PolicyRules {
  return new PolicyRules(
    { of: (_, metric) => (metric === 'pps' ? pps : pps && pps * 800) },
    { all: () => policies } as unknown as ConstructorParameters<typeof PolicyRules>[1],
    { all: () => [], find: () => ({ implementations: [{ driver: 'engine', cost }] }) as never },
    { current: { revision: 1, infrastructure: { servers: [{ id: 'server-1', ghz: 1 }] } } } as never,
  );
}

it('refuses to displace an NF without a policy whose load its software does not carry', () => {
  expect(rulesAt(10e6).cannotLeave(NF)).toBeNull();
  expect(rulesAt(10e6).softwareFallsShort(PLAN, NF)).toBe(
    'nat cannot make room: its load is 10000000 packets/s, and its software on server-1 would carry 8500000 packets/s.',
  );
  expect(rulesAt(8e6).softwareFallsShort(PLAN, NF)).toBeNull();
  expect(rulesAt(null).softwareFallsShort(PLAN, NF)).toBeNull();
  expect(rulesAt(8e6, { ...COST, scales_with: { field: 'us', of: 4 } }).softwareFallsShort(PLAN, NF)).not.toBeNull();
});

it('the priority of a chain is what its definition states, else the highest of its policies', () => {
  const policies = [20, 70].map((priority) => ({ nf: NF, priority }));
  const stating = (priority: number) =>
    ({ chains: [{ ...CHAIN, definition: { ...CHAIN.definition, priority } }] }) as unknown as Plan;
  expect(rulesAt(null, COST, policies).priorityOf('ch-1', stating(0))).toBe(0);
  expect(rulesAt(null, COST, policies).priorityOf('ch-1', PLAN)).toBe(70);
  expect(rulesAt(null).priorityOf('ch-1', stating(90))).toBe(90);
  expect(rulesAt(null).priorityOf('ch-1', PLAN)).toBe(50);
});
