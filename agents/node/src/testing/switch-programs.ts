import type { SwitchAbilities, SwitchEntry, SwitchField, SwitchGroup, SwitchSpec } from '@orrery/contract';
import { NF_TABLES, SwitchSpec as Spec } from '@orrery/contract';
import fc from 'fast-check';
import { checksum, type Sent } from './switch-oracle.js';

export const PORTS = ['p1', 'p2', 'p3'];
const GATEWAY = '02:0e:ff:ff:ff:fe';
const HOST = '02:00:00:00:00:01';
const IPV4 = 0x0800;
const IPV6 = 0x86dd;
/** The first of three types that no program steers. */
const LOCAL = 0x8850;

/** Values of a field that agree in their first bits: what every kind of switch can match. */
interface Prefix {
  readonly field: SwitchField;
  readonly value: number;
  readonly bits: number;
  readonly length: number;
}

type Abilities = SwitchAbilities['match'];
const small = (max: number) => fc.integer({ min: 0, max });
const address = small(3).map((low) => 0x0a00_0000 + low);
const port = fc.constantFrom(0, 1, 79, 80, 81, 443, 0x8000, 0xffff);
const protocol = fc.constantFrom(1, 6, 17, 47);
const hop = fc.constantFrom(1, 7, 8, 0xfffe);
const mac = hop.map(
  (number) =>
    `02:0e:${(number + 0x1_0000).toString(16).slice(1, 3)}:${(number + 0x1_0000).toString(16).slice(3)}:00:00`,
);
const outPort = fc.constantFrom(...PORTS);

function prefix(field: SwitchField, value: fc.Arbitrary<number>, bits: number, shortest: number): fc.Arbitrary<Prefix> {
  return fc.record({
    field: fc.constant(field),
    value,
    bits: fc.constant(bits),
    length: fc.integer({ min: shortest, max: bits }),
  });
}

export function matched({ field, value, bits, length }: Prefix, abilities: Abilities) {
  const size = 2 ** (bits - length);
  const lo = Math.floor(value / size) * size;
  if (abilities[field]?.kind === 'range') return { lo, hi: lo + size - 1 };
  return { value: lo, mask: 2 ** bits - size };
}

export const exact = (value: number, bits: number) => ({ value, mask: 2 ** bits - 1 });

/** Matches of a class: addresses, and a protocol with ports if it has them. */
const classMatch = fc.record(
  {
    src: prefix('ip.src', address, 32, 28),
    dst: prefix('ip.dst', address, 32, 28),
    proto: protocol,
    ports: fc.record({ src: prefix('port.src', port, 16, 0), dst: prefix('port.dst', port, 16, 8) }),
  },
  { requiredKeys: [] },
);

type ClassMatch = typeof classMatch extends fc.Arbitrary<infer T> ? T : never;

/** `unless`: the packets that lack the ports that are matched. */
function fieldsOf(
  { src, dst, proto, ports }: ClassMatch,
  abilities: Abilities,
  unless: 'ip.fragment' | 'ip.later' = 'ip.fragment',
): SwitchEntry['match']['fields'] {
  const addresses = [src, dst].flatMap((one) => (one ? [[one.field, matched(one, abilities)] as const] : []));
  const withPorts = ports && (proto === 6 || proto === 17);
  return Object.fromEntries([
    ['eth.type', exact(IPV4, 16)],
    ...addresses,
    ...(proto === undefined ? [] : [['ip.proto', exact(proto, 8)]]),
    ...(withPorts
      ? [
          [unless, exact(0, 1)],
          ['port.src', matched(ports.src, abilities)],
          ['port.dst', matched(ports.dst, abilities)],
        ].filter(([, one]) => !(typeof one === 'object' && 'mask' in one && one.mask === 0))
      : []),
  ]);
}

const key = fc.constantFrom(
  ['ip.src', 'ip.dst', 'ip.proto', 'port.src', 'port.dst'] as const,
  ['ip.src'] as const,
  ['ip.dst'] as const,
);

const steering = fc.oneof(
  fc.record({ kind: fc.constant('send' as const), mac, port: outPort, returns: fc.boolean() }),
  fc.record({
    kind: fc.constant('split' as const),
    key,
    border: fc.constantFrom(0x1000, 0x8000, 0xc000),
    left: mac,
    right: mac,
  }),
  fc.record({
    kind: fc.constant('group' as const),
    key,
    weights: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 2, maxLength: 4 }),
  }),
  fc.record({ kind: fc.constant('drop' as const) }),
  fc.record({
    kind: fc.constant('nfs' as const),
    filters: fc.array(
      fc.record({
        rules: fc.array(fc.record({ match: classMatch, allow: fc.boolean() }), { maxLength: 5 }),
        allow: fc.boolean(),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    onward: fc.oneof(
      fc.record({ mac, port: outPort }),
      fc.record({ key, border: fc.constantFrom(0x1000, 0x8000), left: mac, right: mac }),
    ),
  }),
);

const program = fc.record({
  steered: fc.array(fc.record({ match: classMatch, steering, fromHost: fc.boolean() }), { maxLength: 8 }),
  guards: fc.array(classMatch, { maxLength: 2 }),
  hops: fc.uniqueArray(hop, { maxLength: 4 }),
  mirrored: fc.uniqueArray(hop, { maxLength: 3 }),
});

interface Shared {
  readonly key: readonly string[];
  readonly border: number;
  readonly left: string;
  readonly right: string;
}

type Program = typeof program extends fc.Arbitrary<infer T> ? T : never;

/** A specification of the shapes that the planner makes, within the abilities of a switch. */
export function specOf(content: Program, { match: abilities }: SwitchAbilities, generation: number): SwitchSpec {
  const entries: object[] = [];
  const groups: SwitchGroup[] = [];
  const put = (table: string, priority: number, match: object, actions: object[]) =>
    entries.push({ table, priority, rule_id: null, match, actions });
  const number = (text: string) => Number.parseInt(text.replaceAll(':', ''), 16);
  const tag = (of: number) => ({ value: 0x020e_0000_0000 + of * 0x1_0000, mask: 0xffff_ffff_0000 });
  const send = (to: string, out: string) => [
    { do: 'set-mac', field: 'eth.dst', mac: to },
    { do: 'output', port: out },
  ];
  const own = { 'eth.type': exact(IPV4, 16), 'eth.dst': exact(number(GATEWAY), 48) };
  put('admit', 400, { port: 'p1', fields: { ...own, 'eth.src': exact(number(HOST), 48) } }, [
    { do: 'mark-from-host' },
    { do: 'next-table', table: 'steer' },
  ]);
  const own6 = { ...own, 'eth.type': exact(IPV6, 16), 'eth.src': exact(number(HOST), 48) };
  put('admit', 400, { port: 'p1', fields: own6 }, [{ do: 'mark-from-host' }, { do: 'next-table', table: 'steer' }]);
  put('admit', 200, { port: 'p2', fields: own }, [{ do: 'next-table', table: 'steer' }]);
  for (const [i, of] of content.hops.entries())
    put('admit', 300, { port: 'p2', fields: { 'eth.type': exact(IPV4, 16), 'eth.dst': tag(of) } }, [
      { do: 'output', port: PORTS[i % 3] },
    ]);
  for (const [i, of] of content.mirrored.entries()) {
    const copies = PORTS.slice(0, 2 + (i % 2)).map((out, j) => ({
      actions: [
        { do: 'set-hop' as const, hop: 100 + 10 * i + j },
        { do: 'output' as const, port: out },
      ],
    }));
    groups.push({ id: 1000 + of, kind: 'all', buckets: copies });
    put('admit', 300, { port: 'p1', fields: { 'eth.type': exact(IPV4, 16), 'eth.dst': tag(of) } }, [
      { do: 'group', group: 1000 + of },
    ]);
  }
  for (const one of PORTS)
    for (const [i, out] of PORTS.entries())
      put('admit', 500, { port: one, fields: { 'eth.type': exact(LOCAL + i, 16) } }, [{ do: 'output', port: out }]);
  put('steer', 0, { fields: {} }, [{ do: 'next-table', table: 'route' }]);
  /** What shares out flows by ranges. */
  const shared = (split: number, to: Shared): object[] => {
    for (const [lo, hi, target] of [
      [0, to.border - 1, to.left],
      [to.border, 0xffff, to.right],
    ] as const)
      for (const range of pieces(lo, hi))
        put(
          'split',
          100,
          { fields: { 'eth.type': exact(IPV4, 16), split: exact(split, 16), flow_id: matched(range, abilities) } },
          send(target, target === to.left ? 'p2' : 'p3'),
        );
    return [
      { do: 'hash-flow', key: [...to.key], split },
      { do: 'next-table', table: 'split' },
    ];
  };
  for (const [i, { match, steering: to, fromHost }] of content.steered.entries()) {
    const fields = { ...fieldsOf(match, abilities), ...(fromHost ? { from_host: exact(1, 1) } : {}) };
    const actions: object[] = [];
    if (to.kind === 'send') actions.push(...(to.returns ? [{ do: 'decrement-ttl' }] : []), ...send(to.mac, to.port));
    if (to.kind === 'drop') actions.push({ do: 'drop' });
    if (to.kind === 'split') actions.push(...shared(i + 1, to));
    if (to.kind === 'nfs') {
      const nfs = i + 1;
      actions.push({ do: 'enter-nfs', nfs }, { do: 'next-table', table: 'nf-1' });
      const own = { 'eth.type': exact(IPV4, 16), nfs: exact(nfs, 16) };
      for (const [stage, { rules, allow }] of to.filters.entries()) {
        const table = NF_TABLES[stage]!;
        const next = stage + 1 < to.filters.length ? NF_TABLES[stage + 1]! : 'onward';
        const judged = (passes: boolean) => (passes ? [{ do: 'next-table', table: next }] : [{ do: 'drop' }]);
        for (const [j, rule] of rules.entries())
          put(
            table,
            100 - j,
            { fields: { ...own, ...fieldsOf(rule.match, abilities, 'ip.later') } },
            judged(rule.allow),
          );
        put(table, 1, { fields: own }, judged(allow));
      }
      const { onward } = to;
      put('onward', 1, { fields: own }, 'border' in onward ? shared(nfs, onward) : send(onward.mac, onward.port));
    }
    if (to.kind === 'group') {
      const buckets = to.weights.map((weight, j) => ({ weight, actions: send(`02:0e:01:0${j}:00:00`, PORTS[j % 3]!) }));
      groups.push({ id: 2000 + i, kind: 'select', key: [...to.key], buckets } as SwitchGroup);
      actions.push({ do: 'group', group: 2000 + i });
    }
    put('steer', 1000 - i, { fields }, actions);
  }
  for (const [i, match] of content.guards.entries())
    put('route', 300 + i, { fields: { ...fieldsOf(match, abilities), from_host: exact(1, 1) } }, [{ do: 'drop' }]);
  for (const [low, to] of [1, 2, 3].entries())
    put(
      'route',
      200,
      { fields: { 'eth.type': exact(IPV4, 16), 'ip.dst': exact(0x0a00_0000 + low, 32) } },
      send(`02:00:00:00:00:0${to}`, PORTS[to - 1]!),
    );
  put('route', 200, { ipv6_dst: 'fd00::2', fields: { 'eth.type': exact(IPV6, 16) } }, send('02:00:00:00:00:02', 'p2'));
  return Spec.parse({
    generation,
    ports: PORTS.map((name) => ({ name, role: 'host', neighbour: name })),
    entries: uniqueEntries(entries),
    groups,
  });
}

/** Of entries that match the same at the same priority a switch holds one. */
function uniqueEntries(entries: object[]): object[] {
  const seen = new Set<string>();
  return entries.filter((entry) => {
    const { table, priority, match } = entry as SwitchEntry;
    const id = JSON.stringify([table, priority, match]);
    return !seen.has(id) && seen.add(id);
  });
}

export function pieces(lo: number, hi: number): Prefix[] {
  const found: Prefix[] = [];
  for (let at = lo; at <= hi; ) {
    let length = 16;
    while (length > 0 && at % 2 ** (17 - length) === 0 && at + 2 ** (17 - length) - 1 <= hi) length -= 1;
    found.push({ field: 'flow_id', value: at, bits: 16, length });
    at += 2 ** (16 - length);
  }
  return found;
}

const destination = fc.oneof(
  { weight: 3, arbitrary: fc.constant(GATEWAY) },
  { weight: 2, arbitrary: hop.map((of) => `02:0e:${hex(of, 2).replace(/(..)/, '$1:')}:be:ef`) },
  { weight: 1, arbitrary: fc.constant('02:00:00:00:00:99') },
);

const packet = fc.record({
  port: fc.constantFrom('p1', 'p1', 'p2'),
  dst: destination,
  src: fc.constantFrom(HOST, HOST, HOST, '06:00:00:00:00:07'),
  type: fc.constantFrom(IPV4, IPV4, IPV4, IPV4, IPV4, IPV6, 0x0806, 0x8100),
  from: address,
  to: address,
  protocol,
  ports: fc.tuple(port, port),
  ttl: fc.constantFrom(0, 1, 2, 64, 255),
  fragment: fc.constantFrom(0, 0, 0, 0x4000, 0x2000, 0x0003),
  options: fc.constantFrom(0, 0, 1, 10),
  payload: fc.uint8Array({ minLength: 30, maxLength: 120 }),
});

type Packet = typeof packet extends fc.Arbitrary<infer T> ? T : never;

function hex(value: number, bytes: number): string {
  return value.toString(16).padStart(2 * bytes, '0');
}

/** `number` tells frames apart that are otherwise the same. */
export function frameOf(one: Packet, number: number): Sent {
  const ethernet = Buffer.from(`${one.dst}${one.src}`.replaceAll(':', '') + hex(one.type, 2), 'hex');
  const rest = Buffer.from(one.payload);
  if (one.type === IPV6) {
    const header = Buffer.from(
      `60000000${hex(rest.length, 2)}1140fd00000000000000000000000000000${1}fd0000000000000000000000000000${hex(one.to & 3, 1)}`,
      'hex',
    );
    return { port: one.port, frame: Buffer.concat([ethernet, header, rest]) };
  }
  const options = Buffer.alloc(4 * one.options, 1);
  const header = Buffer.alloc(20 + options.length);
  options.copy(header, 20);
  header[0] = 0x40 + header.length / 4;
  const l4 = Buffer.concat([
    Buffer.from(hex(one.ports[0], 2) + hex(one.ports[1], 2), 'hex'),
    Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 0, 0, 0, 0, 0, 0]),
    rest,
  ]);
  header.writeUInt16BE(header.length + l4.length, 2);
  header.writeUInt16BE(number & 0xffff, 4);
  header.writeUInt16BE(one.fragment, 6);
  header[8] = one.ttl;
  header[9] = one.protocol;
  header.writeUInt32BE(one.from, 12);
  header.writeUInt32BE(one.to, 16);
  header.writeUInt16BE(checksum(header), 10);
  const tag = one.type === 0x8100 ? Buffer.from('00070800', 'hex') : Buffer.alloc(0);
  return { port: one.port, frame: Buffer.concat([ethernet, tag, header, l4]) };
}

/** Frames into each port that come out at every one, whatever the program is. */
export const ENDS: readonly Sent[] = ['p1', 'p2'].flatMap((name) =>
  PORTS.map((_, i) => ({
    port: name,
    frame: Buffer.concat([
      Buffer.from(`ffffffffffff${HOST.replaceAll(':', '')}${hex(LOCAL + i, 2)}`, 'hex'),
      Buffer.alloc(50, name),
    ]),
  })),
);

export const PROGRAM = program;
export const PACKETS = fc.array(packet, { minLength: 40, maxLength: 60 });

/** Of 20 frames of `meteredFrames`; it takes ten seconds to fill. */
export const METER = { id: 700, rate_kbps: 8, burst_bytes: 10_000 };

/** What comes from a host goes through a meter to the third port. */
export function meteredSpec(generation: number): SwitchSpec {
  const own = { 'eth.type': exact(IPV4, 16) };
  const fromHost = {
    port: 'p1',
    fields: { ...own, 'eth.src': exact(Number.parseInt(HOST.replaceAll(':', ''), 16), 48) },
  };
  const put = (table: string, match: object, ...actions: object[]) => ({
    ...{ table, priority: 10, rule_id: null, match, actions },
  });
  return Spec.parse({
    generation,
    ports: PORTS.map((name) => ({ name, role: 'host', neighbour: name })),
    entries: [
      put('admit', fromHost, { do: 'mark-from-host' }, { do: 'next-table', table: 'steer' }),
      ...PORTS.flatMap((port) =>
        PORTS.map((out, i) =>
          put('admit', { port, fields: { 'eth.type': exact(LOCAL + i, 16) } }, { do: 'output', port: out }),
        ),
      ),
      put(
        'onward',
        { fields: { ...own, nfs: exact(9, 16) } },
        ...[
          { do: 'set-mac', field: 'eth.dst', mac: '02:0e:00:07:00:00' },
          { do: 'output', port: 'p3' },
        ],
      ),
      {
        ...put(
          'nf-1',
          { fields: { ...own, nfs: exact(9, 16) } },
          ...[
            { do: 'meter', meter: METER.id },
            { do: 'next-table', table: 'onward' },
          ],
        ),
        nf: { instance_id: 'c.limit.leaf-1', drops: 'over_rate' },
      },
      put('steer', { fields: own }, { do: 'enter-nfs', nfs: 9 }, { do: 'next-table', table: 'nf-1' }),
    ],
    groups: [],
    meters: [METER],
  });
}

/** As `meteredSpec`, with a filter in place of the meter: it denies UDP to port 80. */
export function filteredSpec(generation: number, abilities: Abilities): SwitchSpec {
  const spec = meteredSpec(generation);
  const own = { 'eth.type': exact(IPV4, 16), nfs: exact(9, 16) };
  const port80 = { field: 'port.dst', value: 80, bits: 16, length: 16 } as const;
  const denied = {
    ...own,
    ...{ 'ip.proto': exact(17, 8), 'ip.later': exact(0, 1), 'port.dst': matched(port80, abilities) },
  };
  const filter = [
    { priority: 9, match: { fields: denied }, actions: [{ do: 'drop' }], drops: 'denied' },
    { priority: 1, match: { fields: own }, actions: [{ do: 'next-table', table: 'onward' }] },
  ];
  const judged = filter.map(({ drops, ...entry }) => ({
    ...{ table: 'nf-1', rule_id: null, ...entry },
    nf: { instance_id: 'c.fw.leaf-1', ...(drops ? { drops } : {}) },
  }));
  return Spec.parse({ ...spec, entries: [...spec.entries.filter(({ nf }) => !nf), ...judged], meters: undefined });
}

/** To ports 80 and 81: whole, as a first fragment and as a later one, of UDP and TCP. */
export function fragmentFrames(): Sent[] {
  const plain = { dst: GATEWAY, src: HOST, type: IPV4, from: 1, to: 2, ttl: 64, options: 0 } as const;
  const kinds = ([17, 6] as const).flatMap((protocol) =>
    ([80, 81] as const).flatMap((to) => ([0, 0x2000, 0x0003] as const).map((fragment) => ({ protocol, to, fragment }))),
  );
  return kinds.map(({ to, ...kind }, i) =>
    frameOf({ port: 'p1', ...plain, ...kind, ports: [1, to], payload: new Uint8Array(100) } as Packet, i),
  );
}

/** Of 500 bytes each. */
export function meteredFrames(count: number): Sent[] {
  const plain = {
    dst: GATEWAY,
    src: HOST,
    type: IPV4,
    from: 1,
    to: 2,
    protocol: 17,
    ttl: 64,
    fragment: 0,
    options: 0,
  } as const;
  return Array.from({ length: count }, (_, i) => {
    const one: Packet = { port: 'p1', ...plain, ports: [1, 80], payload: new Uint8Array(445) };
    return frameOf(one, i);
  });
}
