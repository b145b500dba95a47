import {
  type ChainDefinition,
  crossesServers,
  type NfDescriptor,
  type Plan,
  type PlannedChain,
  type SwitchAbilities,
} from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { ASSUMED_ABILITIES } from '../lower/switch/abilities.js';
import { Memo } from '../memo.js';
import { board } from '../testing/boards.js';
import { withContainer } from '../testing/containers.js';
import { descriptor, NAT } from '../testing/descriptors.js';
import { FreezingMemo } from '../testing/freezing-memo.js';
import { CHAINS, INFRASTRUCTURE, LATENCY, NFS, ON_BOARD, ONE_OF_EACH, THROUGHPUT } from '../testing/one-of-each.js';
import type { PlanInput } from './input.js';
import { makePlan } from './make-plan.js';

const of = (id: number, change: (chain: PlannedChain) => PlannedChain): Partial<PlanInput> => ({
  chains: CHAINS.map((it, i) => (i === id ? change(it) : it)),
});
const defined = (id: number, change: (definition: ChainDefinition) => Partial<ChainDefinition>) =>
  of(id, (it) => ({ ...it, definition: { ...it.definition, ...change(it.definition) } }));
const classOf = (id: number, change: Partial<ChainDefinition['traffic_class']>) =>
  defined(id, ({ traffic_class }) => ({ traffic_class: { ...traffic_class, ...change } }));
const described = (id: string, change: (nf: NfDescriptor) => Partial<NfDescriptor>): Partial<PlanInput> => ({
  descriptors: NFS.map((nf) => (nf.id === id ? { ...nf, ...change(nf) } : nf)),
});
const built = (change: Partial<PlanInput['infrastructure']>): Partial<PlanInput> => ({
  infrastructure: { ...INFRASTRUCTURE, ...change },
});
const overhead = (mean_us: number) => ({
  mean_us,
  mean_error_us: 1,
  sd_us: 2,
  sd_error_us: 1,
  windows: 3,
  packets: 1000,
  measured_ms: 1000,
});
const switchAbilities = (change: Partial<SwitchAbilities>) =>
  new Map([['switch-1', { ...ASSUMED_ABILITIES, ...change }]]);

/** What differs in one input from `ONE_OF_EACH`. */
const CHANGES: Readonly<Record<string, Partial<PlanInput>>> = {
  'the rate of a chain': classOf(0, { rate_bps: 6e8 }),
  'the rate of a chain that then needs fewer instances': classOf(1, { rate_bps: 5e9 }),
  'the rate of a chain that runs in parallel': classOf(3, { rate_bps: 5e8 }),
  'the rate of a chain with a schedule': classOf(4, { rate_bps: 5e8 }),
  'the rate of an edge': defined(2, ({ edges }) => ({
    edges: edges.map((edge, i) => (i === 1 ? { ...edge, rate_bps: 3e8 } : edge)),
  })),
  'the length of packets': classOf(0, { packet_bytes: 200 }),
  'the hosts of a class': classOf(0, { from: ['client-2'] }),
  'the match of a class': classOf(0, { match: [{ attribute: 'port.dst', op: 'is', value: 99 }] }),
  'a guard': classOf(0, { fail_closed: true }),
  'the name of a chain': defined(0, () => ({ name: 'other' })),
  'an NF of a chain': defined(0, ({ nodes }) => ({
    nodes: nodes.map((node) =>
      node.kind === 'nf' && node.id === 'fw' ? { ...node, nf: 'web-cache', config: {} } : node,
    ),
  })),
  'the configuration of an NF': defined(0, ({ nodes }) => ({
    nodes: nodes.map((node) =>
      node.kind === 'nf' && node.id === 'fw' ? { ...node, config: { default: 'deny' } } : node,
    ),
  })),
  'the addresses of a NAT': defined(1, ({ nodes }) => ({
    nodes: nodes.map((node) =>
      node.kind === 'nf' && node.id === 'nat' ? { ...node, config: { external_addresses: ['198.18.7.7'] } } : node,
    ),
  })),
  'a filter on what an NF says': defined(2, ({ edges }) => ({
    edges: edges.map((edge) =>
      edge.filter[0]?.value === 'unsafe'
        ? { ...edge, filter: [{ attribute: 'ids.verdict', op: 'is-not' as const, value: 'safe' }] }
        : edge,
    ),
  })),
  'a latency objective': defined(0, () => ({ slos: [{ ...LATENCY, max_us: 20 }, THROUGHPUT] })),
  'a throughput objective': defined(0, () => ({ slos: [LATENCY, { ...THROUGHPUT, min_bps: 9e11 }] })),
  'an objective of a schedule': defined(4, () => ({ class_slos: [] })),
  'the version of a chain': of(0, (it) => ({ ...it, version: 2 })),
  'the execution of a chain': of(0, (it) => ({ ...it, execution: 'parallel' })),
  'the execution of a chain that runs in parallel': of(3, (it) => ({ ...it, execution: 'sequential' })),
  'the schedule of a chain': of(4, (it) => ({ ...it, schedule: 'round-robin' })),
  'the schedule of another chain': of(0, (it) => ({ ...it, schedule: 'planned' })),
  'the order of chains': { chains: CHAINS.toReversed() },
  'a chain less': { chains: CHAINS.slice(1) },
  'the chains with which one shares its server': { chains: [CHAINS[0]!] },
  'the cycles of an NF': described('monitor', (nf) => ({
    implementations: nf.implementations.map((it) => ({ ...it, cost: { ...it.cost, cycles_per_packet: 9000 } })),
  })),
  'the latency of an NF': described('monitor', (nf) => ({
    implementations: nf.implementations.map((it) => ({ ...it, cost: { ...it.cost, base_latency_us: 50 } })),
  })),
  'the actions of an NF': described('b', ({ actions }) => ({ actions: { ...actions, writes: ['ip.src'] } })),
  'the values of an attribute': described('ids', ({ attributes }) => ({
    attributes: attributes.map((it) => ({ ...it, values: [{ value: 'odd', title: 'Odd' }, ...it.values] })),
  })),
  'the default configuration of an NF': described('firewall', () => ({ default_config: { default: 'deny' } })),
  'the limit on instances': described('nat', () => ({ scaling: { ...NAT.scaling, max_instances: 1 } })),
  'the affinity of an NF': described('nat', () => ({ affinity: ['ip.src'] })),
  'the cost of a container': described('app', () => withContainer(descriptor('app'), { only: true, cycles: 20_000 })),
  'the strategy of placement': { options: { strategy: 'packing' } },
  'the strategy of chaining': { options: { chaining: 'random' } },
  'the strategy of parallel forms': { options: { parallelization: 'sequential' } },
  'the strategy of schedules': { options: { scheduling: 'manual' } },
  'the mode of schedules': { options: { scheduling_mode: 'free' } },
  'the seed': { options: { chaining: 'random', seed: 7 } },
  'the clock of cores': built({ servers: INFRASTRUCTURE.servers.map((it) => ({ ...it, ghz: 1.5 })) }),
  'the clock of one server': built({
    servers: INFRASTRUCTURE.servers.map((it, i) => (i === 0 ? { ...it, ghz: 3 } : it)),
  }),
  'the servers': built({
    servers: INFRASTRUCTURE.servers.slice(1),
    links: INFRASTRUCTURE.links.filter(({ a }) => a.node !== 'server-1'),
  }),
  'the delay of links': built({ links: INFRASTRUCTURE.links.map((it) => ({ ...it, delay_us: 40 })) }),
  'the rate of links': built({ links: INFRASTRUCTURE.links.map((it) => ({ ...it, bandwidth_bps: 3e10 })) }),
  'the room in tables': built({ switches: INFRASTRUCTURE.switches.map((it) => ({ ...it, table_entries: 900 })) }),
  'what a switch can do': built({
    switches: INFRASTRUCTURE.switches.map((it) => ({ ...it, actions: ['rewrite'] })),
  }),
  'the address of a host': built({
    hosts: INFRASTRUCTURE.hosts
      .map((it) => ({ ...it, addresses: it.addresses.map(() => ({ address: '10.9.9.9' })) }))
      .slice(0, 1),
    links: INFRASTRUCTURE.links.filter(({ a }) => a.node !== 'client-2'),
  }),
  'the board': built({ boards: [board('board-1', 'server-2', { latency_us: 30 })] }),
  'the server of the board': built({ boards: [board('board-1', 'server-3')] }),
  'the abilities of a switch': { switches: switchAbilities({ entries: 500 }) },
  'the hash of a switch': { switches: switchAbilities({ groups: { ...ASSUMED_ABILITIES.groups, select: [] } }) },
  'what a switch can match': {
    switches: switchAbilities({ match: { ...ASSUMED_ABILITIES.match, 'port.dst': { kind: 'range', negation: true } } }),
  },
  'the abilities of an engine': { abilities: { ...ONE_OF_EACH.abilities, 'server-1': [] } },
  'a request for software': { implementations: [{ ...ON_BOARD, on: 'software' }] },
  'a request for a container': {
    implementations: [ON_BOARD, { ...ON_BOARD, chain_id: 'p-0', node_id: 'mon', on: 'container' }],
  },
  'a request for a container in a parallel step': {
    implementations: [ON_BOARD, { ...ON_BOARD, chain_id: 'p-3', node_id: 'b', on: 'container' }],
  },
  'the clock of the only server that is fast enough': {
    ...described('nat', () => ({ scaling: { ...NAT.scaling, max_instances: 1 } })),
    ...built({ servers: INFRASTRUCTURE.servers.map((it, i) => (i === 3 ? { ...it, ghz: 4 } : it)) }),
  },
  'the servers with containers': { container_servers: ['server-4'] },
  'no server with containers': { container_servers: [] },
  'a request for a board': { implementations: [] },
  'a request for a slot': { implementations: [{ ...ON_BOARD, slot: { board: 'board-1', slot: 1 } }] },
  'how a slot is loaded': { implementations: [{ ...ON_BOARD, load: 'full' }] },
  'slots that are reserved': { reserved_slots: [{ board: 'board-1', slot: 0 }] },
  'slots that are out of use': { without_slots: [{ board: 'board-1', slot: 0 }] },
  'servers that are excluded': { without_servers: ['server-1'] },
  'servers that are lost': { lost_servers: ['server-1'] },
  'a board that is excluded': { without_boards: ['board-1'] },
  'servers that are closed': { closed_servers: ['server-1'] },
  'a board that is closed': { closed_boards: ['board-1'] },
  'a chain whose packets are dropped': { chains: CHAINS.slice(1), guarded: [CHAINS[0]!] },
  'the calibration of a server': {
    calibration: { entries: { 'server-1': overhead(30), 'server-2': overhead(9) }, hop: null },
  },
  'the calibration of hops': { calibration: { entries: {}, hop: overhead(70) } },
  'the search': { budget: { steps: 0 } },
};

const made = (input: PlanInput) => {
  const plan = makePlan(input);
  return { plan, text: JSON.stringify(plan) };
};
const textOf = (input: PlanInput) => made(input).text;
const ABLE = new Map([['switch-1', ASSUMED_ABILITIES]]);
/** As it comes from a store: nothing is the same object as in the plan. */
const running = (input: PlanInput): Plan => JSON.parse(made(input).text);

describe('a plan', () => {
  const inputs = Object.entries(CHANGES);
  const texts = new Map(inputs.map(([name, change]) => [name, made({ ...ONE_OF_EACH, ...change }).text]));
  const TEXT = made(ONE_OF_EACH).text;
  const RUNNING = running(ONE_OF_EACH);
  const MOVED = running({
    ...ONE_OF_EACH,
    infrastructure: { ...INFRASTRUCTURE, servers: INFRASTRUCTURE.servers.toReversed() },
  });

  const asText = JSON.stringify(RUNNING);
  /** As after a move: what is started in the place of something else has a name of its own. */
  const [ONCE, TWICE] = ['c0.fw.0-2', 'c0.fw.0-3'].map(
    (id): Plan => JSON.parse(asText.replaceAll('"c0.fw.0"', `"${id}"`)),
  );
  /** With other addresses, and another place for what packets carry. */
  const OTHERWISE: Plan = JSON.parse(
    asText.replaceAll('198.18.0.', '198.18.9.').replaceAll('"offset":0', '"offset":5'),
  );
  const AROUND = [RUNNING, MOVED, ONCE!, TWICE!, OTHERWISE].map(
    (base) => [base, made({ ...ONE_OF_EACH, base }).text] as const,
  );

  it('is another one for another input, so that the tests below compare something', () => {
    expect(RUNNING).toMatchObject({ feasible: true, problems: [] });
    expect(RUNNING.graph.edges.some(crossesServers)).toBe(true);
    expect(new Set(AROUND.map(([, before]) => before)).size).toBe(AROUND.length);
    expect(inputs.filter(([name]) => texts.get(name) === TEXT).map(([name]) => name)).toEqual([]);
  });

  it.each(inputs)('is the same with parts of one that differed in %s', (name, change) => {
    const memo = new FreezingMemo(2000);
    expect(made({ ...ONE_OF_EACH, memo }).text).toBe(TEXT);
    expect(made({ ...ONE_OF_EACH, ...change, memo }).text).toBe(texts.get(name));
    expect(made({ ...ONE_OF_EACH, memo }).text).toBe(TEXT);
  });

  it.each(inputs)('is the same with parts of one that differed in %s, beside what runs', (_, change) => {
    const memo = new FreezingMemo(2000);
    for (const [base, before] of AROUND) {
      expect(made({ ...ONE_OF_EACH, base, memo }).text).toBe(before);
      expect(made({ ...ONE_OF_EACH, ...change, base, memo }).text).toBe(made({ ...ONE_OF_EACH, ...change, base }).text);
    }
  });

  it('takes over every part where all of the input comes as copies', () => {
    let parts = 0;
    const memo = new (class extends Memo {
      override get<T>(key: string, make: () => T, keep?: () => boolean): T {
        const counted = () => {
          parts++;
          return make();
        };
        return super.get(key, counted, keep);
      }
    })(20_000);
    const copy = () => ({ ...structuredClone({ ...ONE_OF_EACH, base: RUNNING, switches: ABLE }), memo });
    const first = textOf(copy());
    const before = parts;
    expect(before).toBeGreaterThan(100);
    expect(textOf(copy())).toBe(first);
    expect(parts - before).toBe(0);
  });

  it.each([4, 40, 400])('is the same with parts of all others, where %i of them are remembered', (most) => {
    const memo = new FreezingMemo(most);
    for (const [name, change] of [...inputs, ...inputs.toReversed()])
      expect(made({ ...ONE_OF_EACH, ...change, memo }).text).toBe(texts.get(name));
  });
});
