import type { PlannedChain, SwitchAbilities } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { ASSUMED_ABILITIES } from '../lower/switch/abilities.js';
import { makePlan } from '../plan/make-plan.js';
import { chainOf } from '../testing/chains.js';
import { descriptor } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';

const FIREWALL = descriptor('firewall', {
  on_switch: { program: 'filter' },
  offload: { entries: 1, entries_per: 'rules', actions: ['forward'] },
  actions: { reads: [], writes: [], adds: [], removes: [], may_drop: true },
  default_config: { default_action: 'allow', rules: [] },
});
const LIMITER = descriptor('limiter', {
  on_switch: { program: 'limit' },
  offload: { entries: 1, actions: ['meter'] },
  default_config: { rate_bps: 1_000_000, burst_bytes: 10_000 },
  scaling: { max_instances: 1 },
});
const exact = { kind: 'exact', negation: false } as const;
const MASKED: SwitchAbilities = {
  ...ASSUMED_ABILITIES,
  match: { ...ASSUMED_ABILITIES.match, nfs: exact, 'ip.later': exact },
  meters: true,
};
const ports = { kind: 'range', negation: false } as const;
const RANGES: SwitchAbilities = { ...MASKED, match: { ...MASKED.match, 'port.src': ports, 'port.dst': ports } };

/** A range of ports that prefixes cover by many entries. */
const RULES = [
  { action: 'deny', proto: 'tcp', dst_port: '1-65534' },
  { action: 'allow', dst_port: 80 },
];

interface Asked {
  readonly offload: 'never' | 'where-possible';
  readonly abilities?: SwitchAbilities;
  readonly config?: Record<string, unknown>;
  readonly table_entries?: number;
}

function planOf(nf: 'firewall' | 'limiter', { offload, abilities, config = {}, table_entries = 1000 }: Asked) {
  // Never the last NF of a chain runs on a switch; of one that follows another, a proposal would not save anything.
  const ids = offload === 'never' ? ['nf'] : ['nf', 'last'];
  const path = ['in', ...ids, 'out'];
  const definition = chainOf(
    Object.fromEntries(ids.map((id) => [id, id === 'nf' ? nf : 'firewall'])),
    path.slice(1).map((id, i) => [path[i]!, id]),
    { name: 'c', from: ['client-1'], rate_bps: 1e6, config: { nf: config } },
  );
  const chain: PlannedChain = { chain_id: 'id', version: 1, definition, offload };
  const infrastructure = rack({ table_entries });
  return makePlan({
    id: 'plan-1',
    created_ms: 0,
    chains: [chain],
    descriptors: [FIREWALL, LIMITER],
    infrastructure: {
      ...infrastructure,
      switches: infrastructure.switches.map((one) => ({ ...one, actions: ['forward', 'meter'] })),
    },
    ...(abilities ? { switches: new Map([['switch-1', abilities]]) } : {}),
    base: null,
    budget: { steps: 100 },
  });
}

describe('the proposal to run an NF on a switch', () => {
  it.each([
    ['prefixes of ports', MASKED],
    ['ranges of ports', RANGES],
  ])('counts the entries that the plan which does it would have, by %s', (_what, abilities) => {
    const config = { rules: RULES };
    const [proposed] = planOf('firewall', { offload: 'never', abilities, config }).offloads;
    const [run] = planOf('firewall', { offload: 'where-possible', abilities, config }).on_switches!;
    expect(proposed!.entries).toBe(run!.entries);
    if (abilities === MASKED) expect(proposed!.entries).toBeGreaterThan(RULES.length + 1);
  });

  it('is not made where the table has no room for them', () => {
    const about = { offload: 'never', config: { rules: RULES }, table_entries: 40 } as const;
    const { offloads, reasons } = planOf('firewall', { ...about, abilities: MASKED });
    expect(offloads).toEqual([]);
    expect(reasons.find(({ part }) => part === 'offload')).toMatchObject({
      decision: 'stays on its server',
      constraint: { constraint: 'switch-table', where: 'switch-1' },
    });
    expect(planOf('firewall', { ...about, abilities: RANGES }).offloads).toHaveLength(1);
  });

  it('is not made where the switch lacks the ability, and says so', () => {
    const { offloads, reasons } = planOf('limiter', { offload: 'never', abilities: { ...MASKED, meters: false } });
    expect(offloads).toEqual([]);
    expect(reasons.find(({ part }) => part === 'offload')).toMatchObject({
      because: 'The switch cannot meter.',
      constraint: { constraint: 'switch-ability' },
    });
  });

  it('assumes of a switch whose agent has never connected that it runs NFs', () => {
    expect(planOf('limiter', { offload: 'never' }).offloads).toMatchObject([{ switch: 'switch-1', entries: 1 }]);
  });
});
