import { ChainDefinition, type Filter, type FilterTerm, Infrastructure, type Plan } from '@orrery/contract';
import { allPackets, filterBox, overlap } from '@orrery/planner';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent } from './testing/fake-agent.js';
import { LiveSite, siteMissing } from './testing/live-site.js';
import { TestServer } from './testing/server.js';

/** Several times what a quiet machine needs. */
const LIMIT_MS = 180_000;
const missing = siteMissing();
const SEED = 20_261_122;
const CHAINS = 7;
const PACKETS_A_CHAIN = 250;
const GATEWAY = '02:0e:ff:ff:ff:fe';

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);
/** One for each chain, and one for the chain of a NAT. */
const HOSTS = numbers(CHAINS + 1).map((i) => ({
  id: `host-${i}`,
  origin: 'live',
  role: 'client',
  addresses: [{ address: `172.16.0.${i + 1}` }],
  mac: `02:00:00:00:00:${(i + 1).toString(16).padStart(2, '0')}`,
}));
const SERVERS = ['edge-1', 'edge-2'];
/** One switch with one host per chain, so that traffic classes never overlap. */
const SITE = Infrastructure.parse({
  name: 'site',
  servers: SERVERS.map((id) => ({
    id,
    origin: 'live',
    cores: 64,
    ghz: 1,
    memory_bytes: 1e12,
    nics: [{ name: 'eth0', bandwidth_bps: 1e12 }],
  })),
  switches: [{ id: 'tor', origin: 'live', driver: 'ovs', ports: 64, table_entries: 100_000, actions: ['forward'] }],
  hosts: HOSTS,
  links: [...HOSTS.map(({ id }) => id), ...SERVERS].map((node, i) => ({
    id: `${node}-tor`,
    a: { node, port: 'eth0' },
    b: { node: 'tor', port: `p${i + 1}` },
    bandwidth_bps: 1e12,
  })),
});

interface Packet {
  readonly src: number;
  readonly dst: number;
  readonly proto: number;
  readonly sport: number;
  readonly dport: number;
  readonly fragment: 'no' | 'first' | 'later';
}

const TCP = 6;
const UDP = 17;
const dotted = (n: number) => [24, 16, 8, 0].map((shift) => (n >>> shift) & 255).join('.');
const addressNumber = (text: string) => text.split('.').reduce((n, part) => n * 256 + Number(part), 0);

/** Evaluates a filter by the contract's definition only; shares no code with the planner. */
function holds({ attribute, op, value }: FilterTerm, packet: Packet): boolean {
  const hasPorts = (packet.proto === TCP || packet.proto === UDP) && packet.fragment === 'no';
  const within = (port: number) => {
    const [lo, hi = lo] = String(value).split('-').map(Number);
    return hasPorts && lo! <= port && port <= hi!;
  };
  const inPrefix = (address: number) => {
    const [prefix, length] = String(value).split('/');
    const size = 2 ** (32 - Number(length));
    return Math.floor(address / size) === Math.floor(addressNumber(prefix!) / size);
  };
  const is = {
    'ip.src': () => inPrefix(packet.src),
    'ip.dst': () => inPrefix(packet.dst),
    'ip.proto': () => packet.proto === Number(value),
    'port.src': () => within(packet.sport),
    'port.dst': () => within(packet.dport),
  }[attribute]!();
  return is === (op === 'is');
}

const port = fc.oneof(fc.constantFrom(0, 80, 443, 1023, 1024, 65535), fc.integer({ min: 0, max: 65535 }));
const term = fc.oneof(
  fc
    .tuple(fc.constantFrom('ip.src', 'ip.dst'), fc.integer({ min: 1, max: 12 }), fc.integer({ min: 0, max: 4095 }))
    .map(([attribute, length, bits]) => ({
      attribute,
      value: `${dotted(((bits >>> (12 - length)) << (32 - length)) >>> 0)}/${length}`,
    })),
  fc.constantFrom(1, TCP, UDP, 47).map((value) => ({ attribute: 'ip.proto', value: String(value) })),
  fc.tuple(fc.constantFrom('port.src', 'port.dst'), port, port).map(([attribute, a, b]) => ({
    attribute,
    value: a === b ? String(a) : `${Math.min(a, b)}-${Math.max(a, b)}`,
  })),
);

/** Maximum attributes of one filter, which bounds the product of their entries. */
const ATTRIBUTES_A_FILTER = 2;
const FILTERS_A_CHAIN = 30;
const isPossible = (filter: Filter) => {
  const box = filterBox(filter, () => null, new Map());
  return box !== null && overlap(allPackets(new Map()), box).length > 0;
};

/**
 * Disjoint filters: leaves of a tree in which every fork uses a term for one branch and its negation for the other.
 * Branches that no packet can match are left out, because a chain with such a filter is refused.
 */
const filters: fc.Arbitrary<Filter[]> = fc.array(term, { minLength: 80, maxLength: 80 }).map((terms) => {
  const leaves: Filter[] = [[]];
  for (const each of terms) {
    if (leaves.length === FILTERS_A_CHAIN) break;
    const fork = (leaf: Filter): Filter[] => [
      [...leaf, { ...each, op: 'is' }],
      [...leaf, { ...each, op: 'is-not' }],
    ];
    const at = leaves.findIndex((leaf) => {
      const [some] = fork(leaf);
      return (
        new Set(some!.map(({ attribute }) => attribute)).size <= ATTRIBUTES_A_FILTER && fork(leaf).every(isPossible)
      );
    });
    if (at >= 0) leaves.push(...fork(leaves.splice(at, 1)[0]!));
  }
  return leaves;
});

/** More than an instance of each NF can carry: the switch shares it among several. */
const HEAVY = { rate_bps: 6e11, packet_bytes: 64 };
const LIGHT = { rate_bps: 1000 };

/** Replies to its external addresses have entries of their own. */
const NAT_CHAIN = ChainDefinition.parse({
  name: 'nat',
  title: 'NAT',
  traffic_class: { from: [`host-${CHAINS}`], rate_bps: 1000 },
  nodes: [
    { id: 'in', kind: 'ingress' },
    { id: 'nat', kind: 'nf', nf: 'nat' },
    { id: 'out', kind: 'egress' },
  ],
  edges: [
    { id: 'e', from: 'in', to: 'nat' },
    { id: 'o', from: 'nat', to: 'out' },
  ],
});

function chainOf(number: number, leaves: readonly Filter[]): ChainDefinition {
  return ChainDefinition.parse({
    name: `c${number}`,
    title: `Chain ${number}`,
    traffic_class: { from: [`host-${number}`], ...(number === 0 ? HEAVY : LIGHT) },
    nodes: [
      { id: 'in', kind: 'ingress' },
      ...leaves.map((_, i) => ({ id: `m${i}`, kind: 'nf', nf: 'monitor' })),
      { id: 'out', kind: 'egress' },
    ],
    edges: leaves.flatMap((filter, i) => [
      { id: `e${i}`, from: 'in', to: `m${i}`, filter },
      { id: `o${i}`, from: `m${i}`, to: 'out' },
    ]),
  });
}

/** Values at the limits of the filters, and others. */
function packetsAround(leaves: readonly Filter[]): fc.Arbitrary<Packet> {
  const terms = leaves.flat();
  const near = (prefix: string, limits: (value: string) => number[], most: number) => {
    const values = terms
      .filter(({ attribute }) => attribute.startsWith(prefix))
      .flatMap(({ value }) => limits(String(value)));
    const inside = values.flatMap((n) => [n - 1, n, n + 1]).filter((n) => n >= 0 && n <= most);
    return fc.oneof(fc.constantFrom(0, most, ...inside), fc.integer({ min: 0, max: most }));
  };
  const address = near(
    'ip.',
    (value) => {
      const [prefix, length] = value.split('/');
      return length === undefined
        ? []
        : [addressNumber(prefix!), addressNumber(prefix!) + 2 ** (32 - Number(length)) - 1];
    },
    0xffff_ffff,
  );
  const transport = near('port.', (value) => value.split('-').map(Number), 0xffff);
  return fc.record({
    src: address,
    dst: address,
    proto: fc.constantFrom(1, TCP, UDP, TCP, UDP, 47, 132),
    sport: transport,
    dport: transport,
    fragment: fc.constantFrom('no', 'no', 'no', 'first', 'later'),
  });
}

/** The packet as host `host` of the site, counted from 0, sends it: from its own MAC address, which its port admits. */
function traced(host: number, { src, dst, proto, sport, dport, fragment }: Packet): string {
  const name = proto === TCP ? 'tcp' : 'udp';
  const isFollowing = fragment === 'later';
  const ports = (proto === TCP || proto === UDP) && !isFollowing ? `,${name}_src=${sport},${name}_dst=${dport}` : '';
  const ethernet = `in_port=${host + 1},dl_src=${HOSTS[host]!.mac},dl_dst=${GATEWAY},dl_type=0x0800`;
  const ip = `nw_src=${dotted(src)},nw_dst=${dotted(dst)},nw_proto=${proto},nw_ttl=64,nw_frag=${fragment}`;
  return `${ethernet},${ip}${ports}`;
}

/** Whether a packet is a fragment that may be of a datagram which a filter with a term on a port takes. */
function mayBeFragmentOf(filter: Filter, packet: Packet): boolean {
  const isPort = ({ attribute }: Filter[number]) => attribute.startsWith('port.');
  const isFragment = packet.fragment !== 'no' && (packet.proto === TCP || packet.proto === UDP);
  return isFragment && filter.some(isPort) && filter.every((each) => isPort(each) || holds(each, packet));
}

/** Hop of the first tag that the datapath actions write; null: the packet enters no chain. */
function hopIn(actions: string): number | null {
  const found = /dst=02:0e:([0-9a-f]{2}):([0-9a-f]{2}):00:00/.exec(actions);
  return found ? Number.parseInt(found[1]! + found[2]!, 16) : null;
}

describe.skipIf(missing)(`entries of plans on Open vSwitch${missing ? ` (${missing})` : ''}`, () => {
  let server: TestServer;
  let site: LiveSite;
  const agents: FakeAgent[] = [];
  beforeEach(async () => {
    server = await TestServer.start({ env: { ORRERY_STEP_TIMEOUT_MS: '20000', ORRERY_AGENT_STALE_MS: '20000' } });
    await server.api.call('putInfrastructure', { body: SITE });
    site = new LiveSite(SITE, server);
    await site.setUp();
    for (const id of SERVERS) {
      const { token } = await server.api.call('createJoinToken', { body: { node: id } });
      const agent = new FakeAgent(server.running.url, id, token);
      await agent.connect();
      agents.push(agent);
    }
    await site.startSwitchAgent();
    await site.connected();
  });
  afterEach(async () => {
    for (const agent of agents.splice(0)) await agent.kill();
    await site.tearDown();
    await server.stop();
  });

  it(
    'are installed one for one, and steer packets as the filters say',
    async () => {
      const drawn = fc.sample(filters, { numRuns: CHAINS, seed: SEED });
      expect(drawn.flat().length).toBeGreaterThanOrEqual(200);
      let plan: Plan | null = null;
      const installed: number[] = [];
      const chains = [...drawn.map((leaves, i) => chainOf(i, leaves)), NAT_CHAIN];
      for (const [i, body] of chains.entries()) {
        const { id } = await server.api.call('createChain', { body });
        const accepted = await server.api.call('createDeployment', { body: { chain_id: id } });
        const done = await server.finished(accepted.id);
        expect(done, `chain ${i}: ${done.error?.detail}\n${site.log.slice(-1000)}`).toMatchObject({
          state: 'COMPLETED',
        });
        plan = await server.api.call('getPlan', { params: { id: done.plan_id! } });
        installed.push(site.flows().length);
        expect(plan.tables, `chain ${i}`).toMatchObject([{ switch: 'tor', entries: installed.at(-1) }]);
      }
      expect(installed.at(-1)).toBeGreaterThan(2000);

      const kinds = plan!.fabric.rules.map(({ kind }) => kind);
      expect(kinds).toEqual(expect.arrayContaining(['classify', 'return']));
      expect(plan!.fabric.rules.some(({ targets }) => targets.length > 1)).toBe(true);
      const hops = new Map(plan!.fabric.rules.map(({ id, targets }) => [id, targets.map(({ hop }) => hop)]));
      const taken = new Set<string>();
      let dropped = 0;
      for (const [i, leaves] of drawn.entries()) {
        const packets = fc.sample(packetsAround(leaves), { numRuns: PACKETS_A_CHAIN, seed: SEED + i });
        const actions = await site.trace(packets.map((packet) => traced(i, packet)));
        for (const [n, packet] of packets.entries()) {
          if (leaves.some((filter) => mayBeFragmentOf(filter, packet))) {
            dropped++;
            expect(actions[n], traced(i, packet)).toBe('drop');
            continue;
          }
          const leaf = leaves.findIndex((filter) => filter.every((each) => holds(each, packet)));
          const rule = `classify/c${i}.e${leaf}`;
          taken.add(rule);
          expect(hops.get(rule), `${traced(i, packet)} by ${JSON.stringify(leaves[leaf])}: ${actions[n]}`).toContain(
            hopIn(actions[n]!),
          );
        }
      }
      expect(taken.size).toBeGreaterThan(100);
      expect(dropped).toBeGreaterThan(100);
    },
    LIMIT_MS,
  );
});
