import { type DirectAttribute, FabricRule, type SwitchAbilities } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { row, rule } from '../../testing/row-of-switches.js';
import { carry, type Frame, runSwitch } from '../../testing/switch.js';
import { ASSUMED_ABILITIES } from './abilities.js';
import { type AbilitiesOf, lowerFabric } from './lower-fabric.js';

const GATEWAY = 0x020effff_fffe;
const NONE = new Map<string, SwitchAbilities>();

const frame = (fields: Frame['fields'] = {}, host = 'host-1'): Frame => ({
  fields: {
    'eth.dst': GATEWAY,
    'eth.type': 0x0800,
    'ip.src': 0x0a000001,
    'ip.dst': 0x0a000002,
    'ip.proto': 6,
    'ip.fragment': 0,
    'port.src': 4000,
    'port.dst': 80,
    ...fields,
  },
  source: host.replace('host-', '02:00:00:00:00:0'),
  ttl: 64,
});
const tagged = (hop: number, word = 0) => 0x020e_0000_0000 + hop * 65536 + word;
const entriesOf = (lowered: ReturnType<typeof lowerFabric>, id: string, ruleId: string) =>
  lowered.switches.get(id)!.entries.filter(({ rule_id }) => rule_id === ruleId);

describe('without rules', () => {
  it('every host reaches every other over any number of switches', () => {
    const infrastructure = row(4);
    const { switches, conflicts } = lowerFabric(infrastructure, NONE, []);
    expect(conflicts).toEqual([]);
    for (const from of infrastructure.hosts)
      for (const [i, to] of infrastructure.hosts.entries()) {
        if (from === to) continue;
        const there = carry(switches, infrastructure, from.id, frame({ 'ip.dst': 0x0a000001 + i }, from.id));
        expect(there?.node).toBe(to.id);
        expect(there?.frame.source).toBe(from.mac);
        expect(there?.frame.fields['eth.dst']).toBe(Number(`0x${to.mac.replaceAll(':', '')}`));
      }
  });

  it('reach each other by IPv6 as well, where the switches can', () => {
    const infrastructure = row(3);
    const v6 = (address: string): Frame => ({
      ...frame(),
      fields: { 'eth.dst': GATEWAY, 'eth.type': 0x86dd },
      ipv6_dst: address,
    });
    const { switches } = lowerFabric(infrastructure, NONE, []);
    expect(carry(switches, infrastructure, 'host-1', v6('fd00::3'))?.node).toBe('host-3');
    expect(carry(switches, infrastructure, 'host-1', v6('fd00::9'))).toBeNull();
    const without = new Map(infrastructure.switches.map(({ id }) => [id, { ...ASSUMED_ABILITIES, ipv6: false }]));
    const old = lowerFabric(infrastructure, without, []);
    expect(old.faults).toEqual([]);
    expect(carry(old.switches, infrastructure, 'host-1', v6('fd00::3'))).toBeNull();
  });

  it('each address of a host is delivered to the interface that has it', () => {
    const infrastructure = row(2);
    const [first] = infrastructure.hosts;
    const { switches } = lowerFabric(
      {
        ...infrastructure,
        hosts: [{ ...first!, addresses: [...first!.addresses, { address: '10.9.0.1', port: 'eth1' }] }],
        links: [
          ...infrastructure.links,
          {
            ...infrastructure.links[1]!,
            id: 'second',
            a: { node: 'host-1', port: 'eth1' },
            b: { node: 'sw-2', port: 'x' },
          },
        ],
      },
      NONE,
      [],
    );
    const at = (id: string) => runSwitch(switches.get(id)!, 'ps', frame({ 'ip.dst': 0x0a090001 })).sent;
    expect(at('sw-1').map(({ port }) => port)).toEqual(['right']);
    expect(at('sw-2').map(({ port, frame: out }) => [port, out.fields['eth.dst'] !== GATEWAY])).toEqual([['x', true]]);
  });

  it('needs switches that can match the source address', () => {
    const { 'eth.src': _, ...match } = ASSUMED_ABILITIES.match;
    const { faults } = lowerFabric(row(1), new Map([['sw-1', { ...ASSUMED_ABILITIES, match }]]), []);
    expect(faults).toEqual([expect.stringMatching(/^sw-1 cannot match eth.src/)]);
  });
});

describe('a class', () => {
  it('enters at its hosts alone, and comes to its server over the switches between', () => {
    const infrastructure = row(3);
    const rules = [
      rule('classify', [{ hop: 7, server: 'server-3' }], { id: 'class', from_hosts: ['host-1'] }),
      rule('hop', [{ hop: 7, server: 'server-3' }]),
    ];
    const lowered = lowerFabric(infrastructure, NONE, rules);
    const there = carry(lowered.switches, infrastructure, 'host-1', frame());
    expect(there).toMatchObject({ node: 'server-3', frame: { fields: { 'eth.dst': tagged(7) } } });
    expect(carry(lowered.switches, infrastructure, 'host-3', frame({}, 'host-3'))?.node).toBe('host-2');
    expect(entriesOf(lowered, 'sw-1', 'class')).toHaveLength(1);
    expect(entriesOf(lowered, 'sw-2', 'class')).toEqual([]);
  });

  it('of every host does not take what left a chain', () => {
    const infrastructure = row(1);
    const { switches } = lowerFabric(infrastructure, NONE, [rule('classify', [{ hop: 1, server: 'server-1' }])]);
    expect(carry(switches, infrastructure, 'host-1', frame({ 'ip.dst': 0x0a000001 }))?.node).toBe('server-1');
    expect(carry(switches, infrastructure, 'server-1', frame({ 'ip.dst': 0x0a000001 }))?.node).toBe('host-1');
  });

  it('over several instances is a group of their shares, and another split another group', () => {
    const groups = (boundary: number) => {
      const targets = [
        { hop: 1, server: 'server-1', range: { lo: 0, hi: boundary } },
        { hop: 2, server: 'server-2', range: { lo: boundary, hi: 65536 } },
      ];
      const one = rule('classify', targets, { key: ['ip.src', 'port.dst'] });
      return lowerFabric(row(2), NONE, [one]).switches.get('sw-1')!.groups;
    };
    expect(groups(16384)).toEqual([
      {
        id: expect.any(Number),
        kind: 'select',
        key: ['ip.src', 'port.dst'],
        buckets: [
          {
            weight: 16384,
            actions: [
              { do: 'set-mac', field: 'eth.dst', mac: '02:0e:00:01:00:00' },
              { do: 'output', port: 'ps' },
            ],
          },
          {
            weight: 49152,
            actions: [
              { do: 'set-mac', field: 'eth.dst', mac: '02:0e:00:02:00:00' },
              { do: 'output', port: 'right' },
            ],
          },
        ],
      },
    ]);
    expect(groups(100)).toEqual(groups(100));
    expect(groups(100)[0]!.id).not.toBe(groups(200)[0]!.id);
  });
});

describe('a class over several instances at a switch that can match on a hash', () => {
  const key = ['ip.src'] as const;
  const able = (hashes: DirectAttribute[][]): AbilitiesOf => {
    const { match } = ASSUMED_ABILITIES;
    const hashed = { flow_id: { kind: 'mask', negation: false }, split: { kind: 'exact', negation: false } } as const;
    return new Map(
      ['sw-1', 'sw-2'].map((id) => [id, { ...ASSUMED_ABILITIES, match: { ...match, ...hashed }, hashes }]),
    );
  };
  const targets = (borders: number[]) =>
    [0, ...borders].map((lo, i) => ({
      hop: i + 1,
      server: `server-${(i % 2) + 1}`,
      range: { lo, hi: borders[i] ?? 65_536 },
    }));
  const lowered = (borders: number[], hashes = [[...key]] as DirectAttribute[][]) =>
    lowerFabric(row(2), able(hashes), [rule('classify', targets(borders), { key: [...key] })]);

  it('is entries for prefixes of the hash, which partition it as the ranges do, and are counted', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 1, max: 65_535 }), { minLength: 1, maxLength: 6 }),
        fc.array(fc.integer({ min: 0, max: 65_535 }), { minLength: 20, maxLength: 20 }),
        (cuts, hashes) => {
          const borders = cuts.toSorted((a, b) => a - b);
          const { switches, tables, conflicts } = lowered(borders);
          expect(conflicts).toEqual([]);
          const spec = switches.get('sw-1')!;
          expect(spec.groups).toEqual([]);
          expect(tables.find(({ id }) => id === 'sw-1')!.entries).toBe(spec.entries.length);
          // E2 3.4.4: fewer than 2 N rules for a range.
          expect(spec.entries.filter(({ table }) => table === 'split').length).toBeLessThan(32 * (borders.length + 1));
          for (const hash of [...hashes, ...borders, ...borders.map((border) => border - 1), 0, 65_535]) {
            const { sent } = runSwitch(spec, 'ph', frame({ 'ip.dst': 0x0a090001 }), (_frame, fields) => {
              expect(fields).toEqual(key);
              return hash;
            });
            const hop = targets(borders).find(({ range }) => range.lo <= hash && hash < range.hi)!.hop;
            expect(sent.map((it) => it.frame.fields['eth.dst'])).toEqual([tagged(hop, 0)]);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('reserves room for the flows that the switch is to keep, and is refused where it cannot', () => {
    const kept = (capacity: number, can: boolean) => {
      const of = able([[...key]]);
      const switches = new Map([...of].map(([id, it]) => [id, { ...it, keep_flows: can }]));
      const keep_flows = { capacity, idle_timeout_s: 9 };
      return lowerFabric(row(2), switches, [rule('classify', targets([4096]), { key: [...key], keep_flows })]);
    };
    const { switches, conflicts } = kept(500, true);
    expect(conflicts).toEqual([]);
    const spec = switches.get('sw-1')!;
    const ranges = spec.entries.filter(({ table }) => table === 'split');
    expect(ranges.length).toBeGreaterThan(1);
    for (const { actions } of ranges)
      expect(actions[0]).toMatchObject({ do: 'keep-flow', capacity: 500, idle_timeout_s: 9 });
    expect(spec.entries.filter(({ table }) => table === 'keep')).toHaveLength(1);
    const { sent } = runSwitch(spec, 'ph', frame({ 'ip.dst': 0x0a090001 }), () => 4096);
    expect(sent.map((it) => it.frame.fields['eth.dst'])).toEqual([tagged(2, 0)]);
    const lacks = (of: ReturnType<typeof kept>) => new Set(of.conflicts.map(({ constraint }) => constraint));
    expect(lacks(kept(1000, true))).toEqual(new Set(['switch-table']));
    expect(lacks(kept(500, false))).toEqual(new Set(['switch-ability']));
  });

  it('is a group of shares where the switch cannot hash the very key', () => {
    const { switches } = lowered([100], [['ip.dst'], ['ip.src', 'ip.dst']]);
    expect(switches.get('sw-1')!.groups).toHaveLength(1);
    expect(switches.get('sw-1')!.entries.filter(({ table }) => table === 'split')).toEqual([]);
  });
});

describe('a mirror', () => {
  const copying = new Map(
    ['sw-1', 'sw-2'].map((id) => [id, { ...ASSUMED_ABILITIES, groups: { ...ASSUMED_ABILITIES.groups, all: true } }]),
  );
  const targets = [
    { hop: 8, server: 'server-2' },
    { hop: 9, server: 'server-1' },
  ];
  const mirror = rule('mirror', targets, { id: 'mirror/7', hop: 7, from_servers: ['server-1'] });

  it('copies a packet of its server to every branch, each with the hop of its own and the metadata as it was', () => {
    const { switches, conflicts } = lowerFabric(row(2), copying, [mirror]);
    expect(conflicts).toEqual([]);
    const { sent } = runSwitch(switches.get('sw-1')!, 'ps', frame({ 'eth.dst': 0x020e_0007_1234 }));
    expect(sent.map(({ port, frame: { fields } }) => [port, fields['eth.dst']])).toEqual([
      ['right', 0x020e_0008_1234],
      ['ps', 0x020e_0009_1234],
    ]);
  });

  it('takes its tag only from the server that has the mirror', () => {
    const { switches } = lowerFabric(row(2), copying, [mirror]);
    for (const [at, port] of [
      ['sw-1', 'ph'],
      ['sw-1', 'right'],
      ['sw-2', 'ps'],
      ['sw-2', 'left'],
    ] as const)
      expect(runSwitch(switches.get(at)!, port, frame({ 'eth.dst': 0x020e_0007_0000 })).sent).toEqual([]);
  });

  it('is refused by a switch that cannot copy', () => {
    expect(lowerFabric(row(2), NONE, [mirror]).faults).toEqual([
      expect.stringMatching(/^sw-1 cannot copy packets to several servers/),
    ]);
  });
});

describe('a hop', () => {
  it('goes to its server with any metadata, also back where it came from', () => {
    const hop = rule('hop', [{ hop: 0x203, server: 'server-2' }], { from_servers: ['server-2'] });
    const { switches } = lowerFabric(row(2), NONE, [hop]);
    const { sent } = runSwitch(switches.get('sw-2')!, 'ps', frame({ 'eth.dst': tagged(0x203, 0xbeef) }));
    expect(sent.map(({ port }) => port)).toEqual(['ps']);
  });

  it('has an entry only where its tag arrives: from a server that sends it, or from another switch', () => {
    const counts = (target: string, from_servers: string[], switches = 4) => {
      const lowered = lowerFabric(row(switches), NONE, [rule('hop', [{ hop: 1, server: target }], { from_servers })]);
      return [...lowered.switches.values()].map(
        ({ entries }) => entries.filter(({ rule_id }) => rule_id === 'hop/1').length,
      );
    };
    expect(counts('server-1', [], 1)).toEqual([0]);
    expect(counts('server-1', ['server-1'], 1)).toEqual([1]);
    expect(counts('server-1', [])).toEqual([1, 1, 1, 0]);
    expect(counts('server-1', ['server-4'])).toEqual([1, 1, 1, 1]);
    expect(counts('server-2', [])).toEqual([0, 2, 1, 0]);
    expect(counts('server-2', ['server-1', 'server-2'])).toEqual([1, 3, 1, 0]);
  });
});

describe('a return', () => {
  it('beats forwarding and ends a circle by the TTL', () => {
    const infrastructure = row(2);
    const one = rule('return', [{ hop: 9, server: 'server-2' }], {
      match: [{ field: 'ip.dst', prefix: '198.18.0.0/24', not: false }],
    });
    const { switches } = lowerFabric(infrastructure, NONE, [one, rule('hop', [{ hop: 9, server: 'server-2' }])]);
    const reply = frame({ 'ip.dst': 0xc6120004 }, 'host-2');
    const there = carry(switches, infrastructure, 'host-2', reply);
    expect(there).toMatchObject({ node: 'server-2', frame: { ttl: 63, fields: { 'eth.dst': tagged(9) } } });
    expect(runSwitch(switches.get('sw-2')!, 'ps', { ...reply, ttl: 1 }).sent).toEqual([]);
  });
});

describe('a fragment', () => {
  const fragment = (fields: Frame['fields'] = {}) =>
    frame({ 'ip.fragment': 1, 'port.src': 0, 'port.dst': 0, ...fields });
  const lowered = (match: FabricRule['match'], kinds: FabricRule['kind'][] = ['classify', 'fragment']) => {
    const infrastructure = row(3);
    const classify = rule('classify', [{ hop: 7, server: 'server-3' }], { from_hosts: ['host-1'], match });
    const dropping = (kind: 'fragment' | 'guard') => FabricRule.parse({ ...classify, id: kind, kind, targets: [] });
    const rules = [classify, rule('hop', [{ hop: 7, server: 'server-3' }]), dropping('fragment'), dropping('guard')];
    const result = lowerFabric(
      infrastructure,
      NONE,
      rules.filter(({ kind }) => [...kinds, 'hop'].includes(kind)),
    );
    expect(result.faults).toEqual([]);
    const end = (start: Frame, switches = result.switches) =>
      carry(switches, infrastructure, 'host-1', start)?.node ?? null;
    return { ...result, end };
  };
  const tcp = { field: 'ip.proto', value: 6, not: false } as const;
  const web = { field: 'port.dst', lo: 80, hi: 80, not: false } as const;

  it.each([false, true])('is dropped where a class has a term on a port, negated or not: %s', (not) => {
    const { end } = lowered([tcp, { ...web, not }]);
    expect(end(fragment())).toBeNull();
    expect(end(fragment({ 'ip.proto': 17 }))).toBe('host-2');
    expect([end(frame()), end(frame({ 'port.dst': 81 }))]).toEqual(
      not ? ['host-2', 'server-3'] : ['server-3', 'host-2'],
    );
  });

  it('of a protocol without ports takes the way of its class', () => {
    const { 'port.src': _, 'port.dst': __, ...rest } = fragment({ 'ip.proto': 1 }).fields;
    const icmp = { ...fragment(), fields: rest };
    expect(lowered([web]).end(icmp)).toBe('host-2');
    expect(lowered([{ ...web, not: true }]).end(icmp)).toBe('server-3');
  });

  it('takes the way of a class without terms on ports', () => {
    const { end, switches } = lowered([tcp]);
    expect(end(fragment())).toBe('server-3');
    expect(
      [...switches.values()].flatMap(({ entries }) => entries.filter(({ rule_id }) => rule_id === 'fragment')),
    ).toEqual([]);
  });

  it.each([false, true])('does not pass a chain that fails closed, whichever entry is lost: negated %s', (not) => {
    const { end, switches } = lowered([tcp, { ...web, not }], ['classify', 'fragment', 'guard']);
    for (const [id, spec] of switches)
      for (const lost of spec.entries) {
        const entries = spec.entries.filter((entry) => entry !== lost);
        expect(end(fragment(), new Map([...switches, [id, { ...spec, entries }]]))).toBeNull();
      }
  });

  it('that several classes may have is dropped by one entry', () => {
    const fragments = [80, 443].map((port) =>
      FabricRule.parse({
        ...rule('classify', [{ hop: 1, server: 'server-1' }], { match: [tcp, { ...web, lo: port, hi: port }] }),
        id: `fragment/${port}`,
        kind: 'fragment',
        targets: [],
      }),
    );
    const [one, both] = [fragments.slice(0, 1), fragments].map((rules) => lowerFabric(row(1), NONE, rules));
    expect(both).toEqual(one);
    expect(entriesOf(one!, 'sw-1', 'fragment/80')).toHaveLength(1);
  });
});

describe('a class that fails closed', () => {
  const web: FabricRule['match'] = [{ field: 'port.dst', lo: 80, hi: 80, not: false }];
  const guarded = (from_hosts: string[]) => {
    const classify = rule('classify', [{ hop: 7, server: 'server-3' }], { from_hosts, match: web });
    const guard = FabricRule.parse({ ...classify, id: 'guard/c', kind: 'guard', targets: [] });
    return [classify, rule('hop', [{ hop: 7, server: 'server-3' }]), guard];
  };

  it.each([[['host-1']], [[]]])('reaches its destination by no other way, whichever entry is lost: from %j', (from) => {
    const infrastructure = row(3);
    const { switches, faults } = lowerFabric(infrastructure, NONE, guarded(from));
    expect(faults).toEqual([]);
    const arrives = (specs: typeof switches, it: Frame) => carry(specs, infrastructure, 'host-1', it)?.node ?? null;
    expect(arrives(switches, frame())).toBe('server-3');
    let stopped = 0;
    for (const [id, spec] of switches) {
      for (const lost of spec.entries) {
        const entries = spec.entries.filter((entry) => entry !== lost);
        const end = arrives(new Map([...switches, [id, { ...spec, entries }]]), frame());
        expect([null, 'server-3']).toContain(end);
        stopped += end === null ? 1 : 0;
      }
    }
    expect(stopped).toBeGreaterThan(0);
    expect(arrives(switches, frame({ 'port.dst': 81 }))).toBe('host-2');
    expect(carry(switches, infrastructure, 'server-3', frame())?.node).toBe('host-2');
  });

  it('is dropped where its first hop is out of reach', () => {
    const infrastructure = row(3);
    const cut = { ...infrastructure, links: infrastructure.links.filter(({ id }) => id !== 's-3') };
    const { switches } = lowerFabric(cut, NONE, guarded(['host-1']));
    expect(carry(switches, cut, 'host-1', frame())).toBeNull();
  });

  it('may be the same as that of another', () => {
    const [classify, hop, guard] = guarded(['host-1']);
    const one = lowerFabric(row(3), NONE, [classify!, hop!, guard!]);
    const both = lowerFabric(row(3), NONE, [classify!, hop!, guard!, { ...guard!, id: 'guard/d' }]);
    expect(both).toEqual(one);
    expect(one.faults).toEqual([]);
  });
});

describe('what cannot be', () => {
  const hopFromItself = (hop: number) => rule('hop', [{ hop, server: 'server-1' }], { from_servers: ['server-1'] });
  const classify = rule('classify', [{ hop: 1, server: 'server-1' }]);
  const lacking = (part: Partial<SwitchAbilities>) => new Map([['sw-1', { ...ASSUMED_ABILITIES, ...part }]]);
  const two = rule('classify', [
    { hop: 1, server: 'server-1', range: { lo: 0, hi: 9 } },
    { hop: 2, server: 'server-1', range: { lo: 9, hi: 65536 } },
  ]);

  it.each<[string, Map<string, SwitchAbilities>, FabricRule, RegExp]>([
    ['a host that is not there', NONE, { ...classify, from_hosts: ['nobody'] }, /there is no nobody/],
    ['a server that is not there', NONE, rule('classify', [{ hop: 1, server: 'server-9' }]), /there is no server-9/],
    ['groups', lacking({ groups: { select: [], all: false, fast_failover: false } }), two, /^sw-1 cannot share/],
    ['a hash', lacking({ groups: { select: ['ip.src'], all: false, fast_failover: false } }), two, /hash ip.dst/],
    ['the TTL', lacking({ rewrite: [] }), rule('return', [{ hop: 1, server: 'server-1' }]), /decrement the TTL/],
  ])('is told: %s', (_, abilities, one, words) => {
    const { faults, conflicts } = lowerFabric(row(1), abilities, [one]);
    expect(faults).toEqual([expect.stringMatching(words)]);
    expect(conflicts[0]!.constraint).toBe('switch-ability');
  });

  it('is not told of hops to a server that is no more: nothing can go there', () => {
    const { faults, switches } = lowerFabric(row(1), NONE, [rule('hop', [{ hop: 1, server: 'server-9' }])]);
    expect(faults).toEqual([]);
    expect(switches.get('sw-1')!.entries.filter(({ rule_id }) => rule_id !== null)).toEqual([]);
  });

  it('is told: two rules for the same packets', () => {
    const { faults } = lowerFabric(row(1), NONE, [classify, { ...classify, id: 'rival' }]);
    expect(faults).toEqual([expect.stringContaining(`tell it from ${classify.id}`)]);
  });

  it('leaves no group of a rule that was refused', () => {
    const rival = { ...two, id: 'rival', targets: [two.targets[1]!, { ...two.targets[0]!, hop: 3 }] };
    const { faults, switches } = lowerFabric(row(1), NONE, [two, rival]);
    expect(faults).toEqual([expect.stringContaining('tell it from')]);
    expect(switches.get('sw-1')!.groups).toHaveLength(1);
  });

  it('is told: more than an assumed switch takes in one message', () => {
    const most = ASSUMED_ABILITIES.entries!;
    const hops = Array.from({ length: most }, (_, i) => hopFromItself(i + 1));
    const [conflict] = lowerFabric(row(1, 1_000_000), NONE, hops).conflicts;
    expect(conflict).toMatchObject({ constraint: 'switch-table', available: most, where: 'sw-1' });
  });

  it('is told: more than a switch has room for, by its own word or the operator’s, or in one table', () => {
    const hops = Array.from({ length: 20 }, (_, i) => hopFromItself(i + 1));
    const needed = lowerFabric(row(1), NONE, hops).tables[0]!.entries;
    const conflict = { constraint: 'switch-table', needed, available: 16, unit: 'entries', where: 'sw-1' };
    expect(lowerFabric(row(1, 16), NONE, hops).conflicts).toEqual([conflict]);
    expect(lowerFabric(row(1), lacking({ entries: 16 }), hops).conflicts).toEqual([conflict]);
    const [table] = lowerFabric(row(1), lacking({ table_entries: { admit: 5 } }), hops).faults;
    expect(table).toBe('sw-1 needs 24 entries in table admit and has 5');
    expect(lowerFabric(row(1, needed), NONE, hops).conflicts).toEqual([]);
  });
});

it('counts the very entries that each switch gets', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 4 }),
      fc.array(
        fc.tuple(
          fc.constantFrom('classify', 'hop', 'return' as const),
          fc.integer({ min: 1, max: 4 }),
          fc.integer({ min: 0, max: 65535 }),
        ),
        { maxLength: 8 },
      ),
      (switches, drawn) => {
        const rules = drawn.map(([kind, at, port], i) =>
          rule(kind, [{ hop: i + 1, server: `server-${Math.min(at, switches)}` }], {
            priority: 100 + i,
            match: kind === 'classify' ? [{ field: 'port.dst', lo: 0, hi: port, not: port % 2 === 0 }] : [],
          }),
        );
        const lowered = lowerFabric(row(switches, 1e6), NONE, rules);
        expect(lowered.faults).toEqual([]);
        for (const { id, entries } of lowered.tables) expect(lowered.switches.get(id)!.entries).toHaveLength(entries);
      },
    ),
  );
});
