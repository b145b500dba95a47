import { type FieldAbility, MatchTerm, type SwitchAbilities, type SwitchField } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesResolved, matchesWithSomePorts, type Packet } from '../../testing/packets.js';
import { type Frame, runSwitch } from '../../testing/switch.js';
import { ASSUMED_ABILITIES } from './abilities.js';
import { fragmentsOf, Inability, matchesOf, Shortage } from './match.js';

const dotted = (n: number) => [24, 16, 8, 0].map((shift) => (n >>> shift) & 255).join('.');
const address = fc.oneof(
  fc.constantFrom(0, 0x0a000101, 0x0a000102, 0x0a000201, 0xc6120001, 0xffffffff),
  fc.integer({ min: 0, max: 0xffffffff }),
);
const port = fc.oneof(fc.constantFrom(0, 79, 80, 81, 443, 1023, 1024, 65535), fc.integer({ min: 0, max: 65535 }));
const protocol = fc.constantFrom(0, 1, 6, 17, 47, 132, 255);
const not = fc.boolean();
const range = fc.tuple(port, port).map(([a, b]) => ({ lo: Math.min(a, b), hi: Math.max(a, b) }));
const term: fc.Arbitrary<MatchTerm> = fc
  .oneof(
    fc.record({
      field: fc.constantFrom('ip.src', 'ip.dst'),
      prefix: fc.tuple(address, fc.integer({ min: 0, max: 32 })).map(([at, length]) => `${dotted(at)}/${length}`),
      not,
    }),
    fc.record({ field: fc.constant('ip.proto'), value: protocol, not }),
    fc
      .tuple(fc.constantFrom('port.src', 'port.dst'), range, not)
      .map(([field, limits, negate]) => ({ field, ...limits, not: negate })),
  )
  .map((drawn) => MatchTerm.parse(drawn));

interface Drawn {
  src: number;
  dst: number;
  proto: number;
  sport: number;
  dport: number;
  fragment: boolean;
}
const drawnPacket: fc.Arbitrary<Drawn> = fc.record({
  src: address,
  dst: address,
  proto: protocol,
  sport: port,
  dport: port,
  fragment: fc.boolean(),
});

/** To the contract's words, a fragment has no ports. */
function logical({ src, dst, proto, sport, dport, fragment }: Drawn): Packet {
  const ports = (proto === 6 || proto === 17) && !fragment;
  return {
    'ip.src': src,
    'ip.dst': dst,
    'ip.proto': proto,
    'port.src': ports ? sport : null,
    'port.dst': ports ? dport : null,
    derived: {},
  };
}

/** To a switch, even the first fragment has the bytes where ports are. */
function frameOf({ src, dst, proto, sport, dport, fragment }: Drawn): Frame {
  const ports = proto === 6 || proto === 17 ? { 'port.src': sport, 'port.dst': dport } : {};
  return {
    fields: {
      'eth.dst': 0x020effff_fffe,
      'eth.type': 0x0800,
      'ip.src': src,
      'ip.dst': dst,
      'ip.proto': proto,
      'ip.fragment': Number(fragment),
      ...ports,
    },
    source: '02:00:00:00:00:01',
    ttl: 64,
  };
}

const ability: fc.Arbitrary<FieldAbility> = fc.record({
  kind: fc.constantFrom('prefix', 'mask', 'range' as const),
  negation: fc.boolean(),
});
const abilities: fc.Arbitrary<SwitchAbilities> = fc
  .dictionary(fc.constantFrom<SwitchField[]>('ip.src', 'ip.dst', 'ip.proto', 'port.src', 'port.dst'), ability)
  .map((match) => ({ ...ASSUMED_ABILITIES, match: { ...ASSUMED_ABILITIES.match, ...match } }));

/** Copies of the packet that entries with these matches take. */
function taken(matches: ReturnType<typeof matchesOf>, it: Drawn): number {
  const entries = matches.map((fields) => ({
    table: 'admit' as const,
    priority: 1,
    rule_id: 'rule',
    match: { fields },
    actions: [{ do: 'output' as const, port: 'out' }],
  }));
  return runSwitch({ entries, groups: [] }, 'in', frameOf(it)).sent.length;
}

describe('the entries of a filter', () => {
  it('hold exactly where its terms hold, one entry a packet, whatever the switch can match', () => {
    const seen = { compiled: 0, held: 0, undecided: 0 };
    fc.assert(
      fc.property(
        fc.array(term, { maxLength: 5 }),
        abilities,
        fc.array(drawnPacket, { minLength: 1, maxLength: 20 }),
        (terms, able, packets) => {
          let matches: ReturnType<typeof matchesOf>;
          try {
            matches = matchesOf(terms, able, 2000);
          } catch (error) {
            if (!(error instanceof Shortage)) throw error;
            expect(error.needed).toBeGreaterThan(2000);
            return;
          }
          seen.compiled++;
          const fragments = fragmentsOf(terms, able, 2000);
          const namesPorts = terms.some(({ field }) => field.startsWith('port'));
          for (const it of packets) {
            const isUndecided = namesPorts && it.fragment && (it.proto === 6 || it.proto === 17);
            const wanted = !isUndecided && terms.every((one) => matchesResolved(logical(it), 0, one));
            const possible = isUndecided && matchesWithSomePorts(logical(it), terms);
            seen.held += Number(wanted);
            seen.undecided += Number(possible);
            expect([taken(matches, it), taken(fragments, it)]).toEqual([Number(wanted), Number(possible)]);
          }
        },
      ),
      { numRuns: 4000 },
    );
    expect(seen.compiled).toBeGreaterThan(2000);
    expect(seen.held).toBeGreaterThan(1000);
    expect(seen.undecided).toBeGreaterThan(500);
  });

  const count = (terms: object[], able = ASSUMED_ABILITIES) =>
    matchesOf(
      terms.map((it) => MatchTerm.parse(it)),
      able,
      10_000,
    ).length;
  const web = { field: 'port.dst', lo: 80, hi: 80 };
  const tcp = { field: 'ip.proto', value: 6 };
  const ranging: SwitchAbilities = {
    ...ASSUMED_ABILITIES,
    match: { ...ASSUMED_ABILITIES.match, 'port.dst': { kind: 'range', negation: true } },
  };

  it.each([
    ['everything', [], 1],
    ['a port of one protocol', [tcp, web], 1],
    ['a port of both', [web], 2],
    ['all but a port of one protocol', [tcp, { ...web, not: true }], 16],
    ['ports from 1024 of one protocol', [tcp, { field: 'port.dst', lo: 1024, hi: 65535 }], 6],
    ['no packet', [tcp, { field: 'ip.proto', value: 17 }], 0],
  ])('are few: %s', (_, terms, entries) => expect(count(terms)).toBe(entries));

  it.each([
    ['everything', [], 0],
    ['a protocol', [tcp], 0],
    ['a port of one protocol', [tcp, web], 1],
    ['all but a port of one protocol', [tcp, { ...web, not: true }], 1],
    ['ports from 1024 of both protocols', [{ field: 'port.dst', lo: 1024, hi: 65535 }], 2],
    ['a port and a protocol without ports', [{ field: 'ip.proto', value: 1 }, web], 0],
    ['no port', [{ field: 'port.dst', lo: 0, hi: 65535, not: true }], 0],
  ])('for fragments are one a protocol, however many ports: %s', (_, terms, entries) => {
    const parsed = terms.map((it) => MatchTerm.parse(it));
    expect(fragmentsOf(parsed, ASSUMED_ABILITIES, 10_000)).toHaveLength(entries);
  });

  it('are fewer where the switch has ranges and negation', () => {
    expect(count([tcp, { ...web, not: true }])).toBe(16);
    expect(count([tcp, { ...web, not: true }], ranging)).toBe(1);
    expect(count([tcp, { field: 'port.dst', lo: 1000, hi: 9999 }], ranging)).toBe(1);
  });

  it('cannot be where the switch has no way to match', () => {
    const { 'ip.src': _, ...match } = ASSUMED_ABILITIES.match;
    const blind = { ...ASSUMED_ABILITIES, match };
    expect(() => count([{ field: 'ip.src', prefix: '10.0.0.0/8' }], blind)).toThrow(Inability);
    expect(() => count([{ field: 'metadata', offset: 0, width: 1, value: 1 }])).toThrow(/metadata/);
  });
});
