import { FABRIC_GATEWAY_MAC, FabricRule } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { row } from '../../testing/row-of-switches.js';
import { carry, type Frame } from '../../testing/switch.js';
import { lowerFabric } from './lower-fabric.js';
import { macNumber, tagMac } from './switch-program.js';

const GATEWAY = macNumber(FABRIC_GATEWAY_MAC);
const HOSTS = ['host-1', 'host-2', 'host-3'];

/** Three switches in a row, each with a host and a server. */
const ROW = row(3);

const whole = { lo: 0, hi: 65536 };
const rule = (content: object) =>
  FabricRule.parse({
    chain_id: null,
    priority: 100,
    from_hosts: [],
    from_servers: [],
    match: [],
    hop: null,
    key: [],
    ...content,
  });
const WEB = [{ field: 'port.dst', lo: 80, hi: 80, not: false }];
/** A class of host-1 enters at server-2 and crosses to server-3; another one, of host-3 and all ports, goes to server-1. */
const RULES = [
  rule({
    id: 'c',
    kind: 'classify',
    from_hosts: ['host-1'],
    match: WEB,
    targets: [{ range: whole, hop: 1, server: 'server-2' }],
  }),
  rule({ id: 'f', kind: 'fragment', from_hosts: ['host-1'], match: WEB, targets: [] }),
  rule({
    id: 'd',
    kind: 'classify',
    from_hosts: ['host-3'],
    targets: [{ range: whole, hop: 3, server: 'server-1' }],
  }),
  ...[1, 2, 3].map((hop) =>
    rule({
      id: `hop/${hop}`,
      kind: 'hop',
      hop,
      from_servers: hop === 2 ? ['server-2'] : [],
      targets: [{ range: whole, hop, server: ['server-2', 'server-3', 'server-1'][hop - 1] }],
    }),
  ),
];

const tags = fc
  .tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 0xffff }))
  .map(([hop, word]) => macNumber(tagMac(hop)) + word);
const ownMacs = fc.integer({ min: 1, max: 3 }).map((n) => 0x0200_0000_0000 + n);
const macs = fc.oneof(
  { arbitrary: fc.constant(GATEWAY), weight: 5 },
  { arbitrary: ownMacs, weight: 5 },
  fc.constant(0xffff_ffff_ffff),
  // So often that hops are among the frames of every run, whatever the seed.
  { arbitrary: tags, weight: 5 },
  fc.integer({ min: 0, max: 0xff_ffff_ffff }).map((stamp) => 0x0600_0000_0000 + stamp),
  fc.integer({ min: 0, max: 0xffff_ffff_ffff }),
);
const text = (mac: number) => mac.toString(16).padStart(12, '0').match(/../g)!.join(':');
/** IPv4, IPv6, ARP, VLAN tags single and double, an experimental type, and any other. */
const types = fc.oneof(
  { arbitrary: fc.constantFrom(0x0800, 0x86dd), weight: 3 },
  fc.constantFrom(0x0806, 0x8100, 0x88a8, 0x88b5),
  fc.integer({ min: 0, max: 0xffff }),
);
/** A quarter of the frames are IPv4 to the gateway from the address of some host, so that every kind of packet arrives. */
const ethernet = fc.oneof(
  { arbitrary: fc.record({ destination: macs, source: macs, type: types }), weight: 3 },
  fc.record({ destination: fc.constant(GATEWAY), source: ownMacs, type: fc.constant(0x0800) }),
);
const frames = fc
  .record({
    header: ethernet,
    ip: fc.integer({ min: 0x0a00_0000, max: 0x0a00_0004 }),
    protocol: fc.constantFrom(6, 6, 17, 1),
    fragment: fc.constantFrom(0, 0, 1),
    port: fc.constantFrom(80, 81),
    six: fc.integer({ min: 1, max: 4 }),
  })
  .map(({ header: { destination, source, type }, ip, protocol, fragment, port, six }): Frame => {
    const ports = protocol === 1 ? {} : { 'port.src': 4000, 'port.dst': port };
    const transport = { 'ip.proto': protocol, 'ip.fragment': fragment, ...ports };
    const four = type === 0x0800 ? { 'ip.src': 0x0a00_0001, 'ip.dst': ip, ...transport } : {};
    return {
      fields: { 'eth.dst': destination, 'eth.type': type, ...four },
      ...(type === 0x86dd ? { ipv6_dst: `fd00::${six}` } : {}),
      source: text(source),
      ttl: 64,
    };
  });

const { switches } = lowerFabric(ROW, new Map(), RULES);

describe('what a port may send', () => {
  it('of a host, is IP from its own MAC address to the gateway, and no fragment where a class has ports; all else comes nowhere', () => {
    let arrived = 0;
    let fragments = 0;
    fc.assert(
      fc.property(fc.constantFrom(...HOSTS), frames, (host, start) => {
        const there = carry(switches, ROW, host, start);
        if (!there) return;
        arrived++;
        const { mac } = ROW.hosts.find(({ id }) => id === host)!;
        expect(start.source).toBe(mac);
        expect(start.fields['eth.dst']).toBe(GATEWAY);
        expect([0x0800, 0x86dd]).toContain(start.fields['eth.type']);
        expect(there.frame.source).toBe(mac);
        const isFragment = start.fields['ip.fragment'] === 1 && start.fields['ip.proto'] !== 1;
        if (isFragment) fragments++;
        expect(isFragment && host === 'host-1').toBe(false);
        if (!there.node.startsWith('server')) return;
        const isOfClass = host === 'host-3' || (host === 'host-1' && start.fields['port.dst'] === 80);
        expect([isOfClass, start.fields['eth.type']]).toEqual([true, 0x0800]);
      }),
      { numRuns: 3000 },
    );
    expect(arrived).toBeGreaterThan(10);
    expect(fragments).toBeGreaterThan(3);
  });

  it('of a server, is a hop that it has reason to send, or a packet that left a chain', () => {
    const seen = { hops: 0, exits: 0 };
    fc.assert(
      fc.property(fc.constantFrom('server-1', 'server-2', 'server-3'), frames, (server, start) => {
        const there = carry(switches, ROW, server, start);
        if (!there) return;
        const destination = start.fields['eth.dst']!;
        if (there.node.startsWith('server')) {
          expect([server, there.node, Math.floor(destination / 65536)]).toEqual([
            'server-2',
            'server-3',
            macNumber(tagMac(2)) / 65536,
          ]);
          seen.hops++;
        } else {
          expect(destination).toBe(GATEWAY);
          seen.exits++;
        }
      }),
      { numRuns: 6000 },
    );
    expect(seen.hops).toBeGreaterThan(5);
    expect(seen.exits).toBeGreaterThan(5);
  });
});
