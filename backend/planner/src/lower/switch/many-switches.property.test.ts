import { Infrastructure, type Plan, type SwitchSpec } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makePlan } from '../../plan/make-plan.js';
import { arbitraryChain, arbitraryPacket } from '../../testing/arbitrary.js';
import { CATALOGUE } from '../../testing/descriptors.js';
import { matchesResolved, matchesWithSomePorts, type Packet } from '../../testing/packets.js';
import { carry, type Frame } from '../../testing/switch.js';
import { type Walk, walkPlan } from '../../testing/walk.js';
import { FABRIC_PHASES, fabricIn } from '../../transition/phases.js';
import { lowerFabric } from './lower-fabric.js';
import { avoiding } from './topology.js';

const GATEWAY = 0x020effff_fffe;
const WEB = { id: 'web', address: '10.2.0.1', number: 0x0a020001 };

/** Switches in a random tree with some links more; every server and host at one of them. */
const fabrics = fc
  .record({
    parents: fc.array(fc.nat(), { minLength: 0, maxLength: 4 }),
    shortcuts: fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 3 }),
    servers: fc.array(fc.nat(), { minLength: 2, maxLength: 6 }),
    hosts: fc.tuple(fc.nat(), fc.nat(), fc.nat()),
  })
  .map(({ parents, shortcuts, servers, hosts }): Infrastructure => {
    const count = parents.length + 1;
    const ids = Array.from({ length: count }, (_, i) => `sw-${i}`);
    const between = [
      ...parents.map((parent, i) => [ids[i + 1]!, ids[parent % (i + 1)]!] as const),
      ...shortcuts.map(([a, b]) => [ids[a % count]!, ids[b % count]!] as const).filter(([a, b]) => a !== b),
    ];
    const named = servers.map((at, i) => ({ id: `server-${i + 1}`, at: ids[at % count]! }));
    const addresses = ['10.0.0.1', '10.0.0.2', WEB.address];
    const attached = ['client-1', 'client-2', WEB.id].map((id, i) => ({ id, at: ids[hosts[i]! % count]! }));
    return Infrastructure.parse({
      name: 'fabric',
      servers: named.map(({ id }) => ({
        id,
        origin: 'twin',
        cores: 1,
        ghz: 1,
        memory_bytes: 1e9,
        nics: [{ name: 'nic0', bandwidth_bps: 1e12 }],
      })),
      switches: ids.map((id) => ({ id, origin: 'twin', driver: 'ovs', ports: 64, table_entries: 1000, actions: [] })),
      hosts: attached.map(({ id }, i) => ({
        id,
        origin: 'twin',
        role: id === WEB.id ? 'server' : 'client',
        addresses: [{ address: addresses[i] }],
        mac: `02:00:00:00:00:0${i + 1}`,
      })),
      links: [
        ...between.map(([a, b], i) => ({ a: { node: a, port: `up-${i}` }, b: { node: b, port: `down-${i}` } })),
        ...[...named, ...attached].map(({ id, at }) => ({
          a: { node: id, port: 'nic0' },
          b: { node: at, port: `to-${id}` },
        })),
      ].map((link, i) => ({ id: `link-${i}`, bandwidth_bps: 1e12, ...link })),
    });
  });

const cases = fc.record({
  infrastructure: fabrics,
  first: arbitraryChain({ nfs: ['monitor', 'firewall'], maxNodes: 2, exact: true }, 'q'),
  second: arbitraryChain({ nfs: ['ids', 'monitor', 'firewall', 'nat'], maxNodes: 5, exact: true }),
  packets: fc.array(arbitraryPacket, { minLength: 12, maxLength: 12 }),
  /** Up to one core's worth for each NF, so that chains need several servers. */
  rate_bps: fc.constantFrom(1e6, 5e9),
  seed: fc.nat(),
  /** Which switches are a phase ahead of the others. */
  ahead: fc.nat(),
});

type Switches = ReadonlyMap<string, Pick<SwitchSpec, 'entries' | 'groups'>>;

const tagOf = (hop: number) => 0x020e_0000_0000 + hop * 65536;
const hopOf = (frame: Frame) => Math.floor((frame.fields['eth.dst']! - 0x020e_0000_0000) / 65536);

/** As a host sends it, or a server, whose source address is of no account. */
function frameOf(it: Packet, destination: number, source = '06:00:00:00:00:aa'): Frame {
  const ports = it['port.src'] === null ? {} : { 'port.src': it['port.src'], 'port.dst': it['port.dst']! };
  return {
    fields: {
      'eth.dst': destination,
      'eth.type': 0x0800,
      'ip.src': it['ip.src'],
      'ip.dst': it['ip.dst'],
      'ip.proto': it['ip.proto'],
      'ip.fragment': 0,
      ...ports,
    },
    source,
    ttl: 64,
  };
}

const macOf = ({ hosts }: Infrastructure, host: string) => hosts.find(({ id }) => id === host)!.mac;

/** Carries the packet of a walk over the switches, from hop to hop, to the host that has its destination. */
function follow(switches: Switches, infrastructure: Infrastructure, plan: Plan, host: string, walk: Walk): number {
  const [first] = walk.passed;
  if (!first) return 0;
  let carried = 1;
  const entered = carry(switches, infrastructure, host, frameOf(first.packet, GATEWAY, macOf(infrastructure, host)));
  const served = plan.nodes[entered?.node ?? '']?.hops.find(({ hop }) => hop === hopOf(entered!.frame));
  const node = (id: string) => id.replace(/\.\d+$/, '');
  expect(node(served?.instance_id ?? `nothing at ${entered?.node}`)).toBe(node(first.instance.id));
  walk.passed.slice(1).forEach(({ instance, server, packet }, i) => {
    const { server: from } = walk.passed[i]!;
    if (from === server) return;
    const { hop } = plan.nodes[server]!.hops.find((it) => it.instance_id === instance.id)!;
    expect(carry(switches, infrastructure, from, frameOf(packet, tagOf(hop)))?.node).toBe(server);
    carried++;
  });
  if (walk.end === 'exit' && walk.packet['ip.dst'] === WEB.number) {
    const out = carry(switches, infrastructure, walk.passed.at(-1)!.server, frameOf(walk.packet, GATEWAY));
    expect(out?.node).toBe(WEB.id);
    carried++;
  }
  return carried;
}

/** Fragments of the packet: one that may be of a class with a term on a port comes nowhere, another where its class goes. */
function fragmentFate(plan: Plan, host: string, { 'port.src': _, 'port.dst': __, ...rest }: Packet) {
  const fragment = { ...rest, 'port.src': null, 'port.dst': null };
  const hasPorts = fragment['ip.proto'] === 6 || fragment['ip.proto'] === 17;
  const classes = plan.fabric.rules.filter(({ kind, from_hosts }) => kind === 'classify' && from_hosts.includes(host));
  const possible = classes.filter(({ match }) => hasPorts && matchesWithSomePorts(fragment, match));
  if (possible.some(({ match }) => match.some(({ field }) => field.startsWith('port')))) return 'dropped';
  const decided = classes.filter(({ match }) => match.every((term) => matchesResolved(fragment, 0, term)));
  return decided.length > 0 ? 'classified' : 'routed';
}

/** Switches that are reached from one without the links, breadth first. */
function reachedFrom(start: string, { switches, links }: Infrastructure, without: ReadonlySet<string>): Set<string> {
  const known = new Set(switches.map(({ id }) => id));
  const reached = new Set([start]);
  for (const at of reached)
    for (const { id, a, b } of links) {
      if (without.has(id) || !known.has(a.node) || !known.has(b.node)) continue;
      if (a.node === at) reached.add(b.node);
      if (b.node === at) reached.add(a.node);
    }
  return reached;
}

describe('links that are down', () => {
  it('are gone around wherever another way leads, and every packet arrives; no switch sends into one otherwise', () => {
    const seen = { around: 0, whole: 0, cut: 0 };
    const some = fc.record({ cases, avoided: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }) });
    fc.assert(
      fc.property(some, ({ cases: { infrastructure, packets, seed, rate_bps, first }, avoided }) => {
        const { switches, links } = infrastructure;
        const known = new Set(switches.map(({ id }) => id));
        const trunks = links.filter(({ a, b }) => known.has(a.node) && known.has(b.node));
        const down = new Set(trunks.filter((_, i) => avoided[i % 8]).map(({ id }) => id));
        fc.pre(down.size > 0);
        const definition = { ...first, traffic_class: { ...first.traffic_class, from: ['client-1'], rate_bps } };
        const plan = makePlan({
          id: 'plan',
          created_ms: 0,
          options: { strategy: 'random', seed },
          descriptors: CATALOGUE,
          infrastructure,
          budget: { steps: 50 },
          base: null,
          chains: [{ chain_id: 'c-1', version: 1, definition }],
        });
        fc.pre(plan.feasible);
        const lowered = (of: Infrastructure) => lowerFabric(of, new Map(), plan.fabric.rules).switches;
        const [usual, around] = [lowered(infrastructure), lowered(avoiding(infrastructure, down))];
        const sendsInto = (specs: typeof usual) =>
          trunks
            .filter(({ id }) => down.has(id))
            .flatMap(({ a, b }) => [a, b])
            .filter(({ node, port }) =>
              specs
                .get(node)!
                .entries.some(({ actions }) => actions.some((it) => it.do === 'output' && it.port === port)),
            );
        for (const [id, { ports }] of usual) expect(around.get(id)!.ports).toEqual(ports);
        const isWhole = reachedFrom(switches[0]!.id, infrastructure, down).size === switches.length;
        if (isWhole) {
          expect(sendsInto(around)).toEqual([]);
          if (sendsInto(usual).length > 0) seen.around++;
          seen.whole++;
        } else seen.cut++;
        for (const start of packets)
          follow(
            around,
            infrastructure,
            plan,
            'client-1',
            walkPlan(plan, 'client-1', start, () => 'safe'),
          );
      }),
      { numRuns: 200 },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(10);
  });
});

describe('chains over many switches', () => {
  it('receive every packet from hosts, servers and replies, also while switches change one after the other', () => {
    const seen = { plans: 0, distant: 0, crossings: 0, replies: 0, mixed: 0, dropped: 0, classified: 0, routed: 0 };
    fc.assert(
      fc.property(cases, ({ infrastructure, packets, rate_bps, seed, ahead, ...drawn }) => {
        const chain = (id: string, host: string, definition: typeof drawn.first) => ({
          chain_id: id,
          version: 1,
          definition: {
            ...definition,
            traffic_class: { ...definition.traffic_class, from: [host], rate_bps },
          },
        });
        const chains = [chain('c-1', 'client-1', drawn.first), chain('c-2', 'client-2', drawn.second)];
        const input = {
          id: 'plan',
          created_ms: 0,
          options: { strategy: 'random' as const, seed },
          descriptors: CATALOGUE,
          infrastructure,
          budget: { steps: 50 },
        };
        const base = makePlan({ ...input, chains: chains.slice(0, 1), base: null });
        fc.pre(base.feasible);
        const plan = makePlan({ ...input, chains, base });
        fc.pre(plan.feasible);
        seen.plans++;
        const lowered = (fabric: Plan['fabric']): Switches => {
          const { switches, faults } = lowerFabric(infrastructure, new Map(), fabric.rules);
          expect(faults).toEqual([]);
          return switches;
        };
        const safe = () => 'safe';
        const walks = (host: string) => packets.map((start) => walkPlan(plan, host, start, safe));
        const at = (node: string) => infrastructure.links.find(({ a }) => a.node === node)!.b.node;

        const switches = lowered(plan.fabric);
        for (const host of ['client-1', 'client-2'])
          for (const walk of walks(host)) {
            seen.crossings += follow(switches, infrastructure, plan, host, walk) > 1 ? 1 : 0;
            if (walk.passed[0] && at(walk.passed[0].server) !== at(host)) seen.distant++;
          }
        for (const host of ['client-1', 'client-2'])
          for (const start of packets) {
            const { fields, ...rest } = frameOf(start, GATEWAY, macOf(infrastructure, host));
            const end = carry(switches, infrastructure, host, { ...rest, fields: { ...fields, 'ip.fragment': 1 } });
            const fate = fragmentFate(plan, host, start);
            if (fate === 'dropped') expect(end).toBeNull();
            if (fate === 'classified') expect(end?.node).toMatch(/^server/);
            if (fate === 'routed') expect(end?.node ?? 'web').not.toMatch(/^server/);
            seen[fate]++;
          }
        for (const { kind, match, targets } of plan.fabric.rules) {
          if (kind !== 'return') continue;
          const [owned] = match;
          if (owned?.field !== 'ip.dst') throw new Error(`rule ${kind} matches ${owned?.field}`);
          const address = owned.prefix
            .split(/[./]/)
            .slice(0, 4)
            .reduce((n, part) => n * 256 + Number(part), 0);
          const reply: Frame = frameOf({ ...packets[0]!, 'ip.dst': address }, GATEWAY, macOf(infrastructure, WEB.id));
          expect(carry(switches, infrastructure, WEB.id, reply)).toMatchObject({
            node: targets[0]!.server,
            frame: { fields: { 'eth.dst': tagOf(targets[0]!.hop) } },
          });
          seen.replies++;
        }

        let fabric = base.fabric;
        for (const phase of FABRIC_PHASES) {
          const next = fabricIn(phase, fabric, plan.fabric, () => true);
          const [before, after] = [lowered(fabric), lowered(next)];
          const mixed: Switches = new Map(
            [...before.keys()].map((id, i) => [id, ((ahead >> i) % 2 === 1 ? after : before).get(id)!]),
          );
          for (const walk of walks('client-1')) seen.mixed += follow(mixed, infrastructure, plan, 'client-1', walk);
          for (const start of packets) {
            const entered = carry(
              mixed,
              infrastructure,
              'client-2',
              frameOf(start, GATEWAY, macOf(infrastructure, 'client-2')),
            );
            if (!entered || infrastructure.hosts.some(({ id }) => id === entered.node)) continue;
            const hops = plan.nodes[entered.node]!.hops.map(({ hop }) => hop);
            expect(hops).toContain(hopOf(entered.frame));
          }
          fabric = next;
        }
        expect(fabricIn('settle', fabric, plan.fabric, () => true).rules).toEqual(plan.fabric.rules);
      }),
      { numRuns: 300 },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(100);
  });
});
