import { type DriverChange, Infrastructure, Plan, type PlannedChain, withDrivers } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { ASSUMED_ABILITIES } from '../lower/switch/abilities.js';
import { lowerFabric } from '../lower/switch/lower-fabric.js';
import { chainOf } from '../testing/chains.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import type { PlanInput } from './input.js';
import { makePlan } from './make-plan.js';

const server = (id: string) => ({
  id,
  origin: 'twin',
  cores: 2,
  ghz: 2,
  memory_bytes: 1e9,
  nics: [{ name: 'eth0', bandwidth_bps: 1e9 }],
});
const host = (id: string, i: number) => ({
  id,
  origin: 'twin',
  role: 'client',
  addresses: [{ address: `10.0.${i}.1` }],
  mac: `02:00:00:00:00:0${i}`,
});
const link = (node: string, leaf: string, i: number) => ({
  id: `${node}-${leaf}`,
  a: { node, port: 'eth0' },
  b: { node: leaf, port: `p${i}` },
  bandwidth_bps: 1e9,
});
/** Two leaves with a server and a host each, a third with a host alone, all at a spine. */
const SITE = Infrastructure.parse({
  name: 'site',
  servers: [server('s1'), server('s2')],
  switches: ['leaf-1', 'leaf-2', 'leaf-3', 'spine'].map((id) => ({
    id,
    origin: 'twin',
    driver: 'ovs',
    ports: 8,
    table_entries: 1000,
    actions: ['forward'],
  })),
  hosts: [host('h1', 1), host('h2', 2), host('h3', 3)],
  links: [
    link('s1', 'leaf-1', 1),
    link('h1', 'leaf-1', 2),
    link('s2', 'leaf-2', 1),
    link('h2', 'leaf-2', 2),
    link('h3', 'leaf-3', 2),
    ...[1, 2, 3].map((i) => ({ ...link(`leaf-${i}`, 'spine', i), a: { node: `leaf-${i}`, port: 'up' } })),
  ],
});
const LEAVES = SITE.switches.map(({ id }) => id);

/** A chain of one monitor for what a host sends to another. */
function chain(name: string, from: string, to: string, ...more: [string, 'is', string][]): PlannedChain {
  const definition = chainOf(
    { monitor: 'monitor' },
    [
      ['in', 'monitor'],
      ['monitor', 'out'],
    ],
    { name, from: [from], match: [['ip.dst', 'is', to], ...more], rate_bps: 1e6 },
  );
  return { chain_id: `id-${name}`, version: 1, definition };
}

const EXACT = {
  ...ASSUMED_ABILITIES,
  match: { ...ASSUMED_ABILITIES.match, 'port.dst': { kind: 'exact', negation: false } as const },
};

function plan(chains: readonly PlannedChain[], more: Partial<PlanInput> = {}): Plan {
  const made = makePlan({
    id: 'plan',
    created_ms: 0,
    chains,
    descriptors: CATALOGUE,
    infrastructure: SITE,
    base: null,
    budget: { steps: 0 },
    ...more,
  });
  expect(Plan.parse(made)).toEqual(made);
  return made;
}

/** Other drivers on top of what runs, with what switches can do then. */
function changed(base: Plan | null, drivers: readonly DriverChange[], abilities = ASSUMED_ABILITIES): Plan {
  const then = drivers.map((change) => [change.switch, abilities] as const);
  return plan(base?.chains ?? [], {
    id: 'next',
    base,
    infrastructure: withDrivers(SITE, drivers),
    drivers,
    switches: new Map(then),
    switches_before: new Map(),
  });
}
const to = (...switches: string[]): DriverChange[] => switches.map((id) => ({ switch: id, from: 'ovs', to: 'p4' }));

describe('a plan that changes drivers', () => {
  it('begins with a step for each switch, that interrupts the chains whose packets go over it', () => {
    const base = plan([chain('a', 'h1', '10.0.1.0/24'), chain('b', 'h2', '10.0.3.1'), chain('c', 'h3', '10.0.3.0/24')]);
    const at = new Map(base.graph.nodes.flatMap((node) => (node.kind === 'nf' ? [[node.chain_id, node.server]] : [])));
    const sides = { s1: 'leaf-1', s2: 'leaf-2' } as Record<string, string>;
    const ends: Record<string, readonly string[]> = {
      'id-a': ['leaf-1', 'leaf-1'],
      'id-b': ['leaf-2', 'leaf-3'],
      'id-c': ['leaf-3', 'leaf-3'],
    };
    /** The leaves of the hosts and of the NF; and the spine, where these differ. */
    const over = (id: string) => {
      const leaves = new Set([...ends[id]!, sides[at.get(id)!]!]);
      return leaves.size > 1 ? [...leaves, 'spine'] : [...leaves];
    };
    const next = changed(base, to(...LEAVES));
    expect(next.feasible).toBe(true);
    expect(next.steps.map(({ ordinal, kind, subject }) => [ordinal, kind, subject])).toEqual(
      LEAVES.map((id, i) => [i, 'change-driver', id]),
    );
    for (const { subject, interrupts } of next.steps)
      expect([subject, interrupts]).toEqual([subject, Object.keys(ends).filter((id) => over(id).includes(subject))]);
    expect(next.steps[0]!.summary).toContain('leaf-1 changes from Open vSwitch to P4, built in');
    expect(next.diff).toMatchObject({ added: [], removed: [], moved: [], reconfigured: [] });
    expect(next.drivers).toEqual(to(...LEAVES));
  });

  it('tells the entries of each switch before and then, by what it can do before and then', () => {
    const ranged = chain('a', 'h1', '10.0.2.1', ['ip.proto', 'is', 'udp'], ['port.dst', 'is', '1000-1005']);
    const base = plan([ranged]);
    const next = changed(base, to('leaf-1'), EXACT);
    const [leaf, ...others] = next.tables;
    const entriesBy = (abilities: typeof ASSUMED_ABILITIES) =>
      lowerFabric(SITE, new Map([['leaf-1', abilities]]), base.fabric.rules).switches.get('leaf-1')!.entries.length;
    expect(leaf).toMatchObject({
      switch: 'leaf-1',
      entries_before: entriesBy(ASSUMED_ABILITIES),
      entries: entriesBy(EXACT),
    });
    expect(leaf!.entries).toBeGreaterThan(leaf!.entries_before!);
    for (const { entries, entries_before } of others) expect(entries_before).toBe(entries);
    expect(base.tables.every(({ entries_before }) => entries_before === undefined)).toBe(true);
  });

  it('is not feasible where the new driver cannot hold the rules, and says how many it needs', () => {
    const base = plan([chain('a', 'h1', '10.0.2.1')]);
    const small = { ...ASSUMED_ABILITIES, entries: 5 };
    const next = changed(base, to('leaf-1'), small);
    expect(next).toMatchObject({ feasible: false, steps: [], fabric: base.fabric });
    expect(next.conflicts[0]).toMatchObject({ constraint: 'switch-table', where: 'leaf-1', available: 5 });
  });

  it('has an engine share out flows for a driver that cannot keep them, before the driver changes', () => {
    const infrastructure = rack({ servers: 8, cores: 4, ghz: 1, nic_bps: 1e12, link_bps: 1e12 });
    const busy = chainOf(
      { fw: 'firewall', ids: 'ids' },
      [
        ['in', 'fw'],
        ['fw', 'ids'],
        ['ids', 'out'],
      ],
      { rate_bps: 6e9 },
    );
    const base = plan([{ chain_id: 'p-1', version: 1, definition: busy }], { infrastructure });
    expect(base.graph.nodes.some(({ kind }) => kind === 'split')).toBe(false);
    const blind = { ...ASSUMED_ABILITIES, groups: { ...ASSUMED_ABILITIES.groups, select: [] } };
    const drivers = to('switch-1');
    const next = plan(base.chains, {
      id: 'next',
      base,
      infrastructure: withDrivers(infrastructure, drivers),
      drivers,
      switches: new Map([['switch-1', blind]]),
      switches_before: new Map(),
    });
    expect(next.feasible, JSON.stringify(next.conflicts)).toBe(true);
    expect(next.graph.nodes.some(({ kind }) => kind === 'split')).toBe(true);
    const kinds = next.steps.map(({ kind }) => kind);
    expect(kinds.indexOf('prepare-node')).toBeLessThan(kinds.indexOf('change-driver'));
    expect(kinds.indexOf('extend-fabric')).toBeLessThan(kinds.indexOf('change-driver'));
    expect(kinds[kinds.indexOf('change-driver') + 1]).toBe('steer-fabric');
    expect(next.steps.map(({ ordinal }) => ordinal)).toEqual(kinds.map((_, i) => i));
  });

  it('is made without any chain, too', () => {
    const next = changed(null, to('leaf-2'));
    expect(next.feasible).toBe(true);
    expect(next.steps).toMatchObject([{ kind: 'change-driver', subject: 'leaf-2', interrupts: [] }]);
  });
});
