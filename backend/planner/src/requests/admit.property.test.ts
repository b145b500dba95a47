import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { validateChain } from '../check/validate.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { matchesTerm, packet } from '../testing/packets.js';
import { Admissions, type AskedRequest } from './admit.js';
import { ClassIndex } from './class-index.js';
import type { LiveState } from './live-network.js';
import { firstInstances, type HeldRequest, poolChain } from './pool-chain.js';

const NFS = ['monitor', 'firewall', 'ids'];
const PLACES = ['server-1', 'server-2', 'board-1.0'];
const whole = (min: number, max: number) => fc.integer({ min, max });

interface Case {
  readonly state: LiveState;
  readonly asked: readonly AskedRequest[];
}

/** Small live states and requests in which every constraint may bind. */
const cases: fc.Arbitrary<Case> = fc
  .record({
    instances: fc.array(
      fc.record({
        nf: fc.constantFrom(...NFS),
        place: fc.constantFrom(...PLACES),
        latency_us: whole(1, 30),
        measured: fc.boolean(),
        rate_bps: whole(1, 12),
        booked_bps: whole(0, 4),
        measured_bps: whole(0, 6),
      }),
      { maxLength: 7 },
    ),
    options: fc.array(
      fc.record({
        nf: fc.constantFrom(...NFS),
        place: fc.constantFrom(...PLACES),
        latency_us: whole(1, 6),
        rate_bps: whole(1, 12),
        slot: fc.constantFrom('board-9/0', 'board-9/1'),
        cost: whole(1, 3),
      }),
      { maxLength: 3 },
    ),
    entry: fc.array(whole(0, 9), { minLength: 3, maxLength: 3 }),
    transit: fc.array(fc.oneof({ weight: 8, arbitrary: whole(1, 20) }, fc.constant(Number.POSITIVE_INFINITY)), {
      minLength: 9,
      maxLength: 9,
    }),
    asked: fc.array(
      fc.record({
        functions: fc.subarray(NFS, { minLength: 1 }),
        latency_us: whole(5, 90),
        throughput_bps: whole(1, 6),
      }),
      { minLength: 1, maxLength: 6 },
    ),
  })
  .map(({ instances, options, entry, transit, asked }) => ({
    state: {
      functions: NFS,
      instances: instances.map((it, i) => ({ ...it, id: `run-${i}` })),
      // A slot is at one place.
      options: options.map((it, i) => ({
        ...it,
        id: `new-${i}`,
        place: it.slot === 'board-9/0' ? PLACES[0]! : PLACES[1]!,
      })),
      entry_us: (place: string) => entry[PLACES.indexOf(place)]!,
      transit_us: (a: string, b: string) => transit[3 * PLACES.indexOf(a) + PLACES.indexOf(b)]!,
    },
    asked: asked.map((it, i) => ({
      ...it,
      id: `r-${i}`,
      from: ['client-1'],
      match: [{ attribute: 'port.dst', op: 'is' as const, value: i + 1 }],
    })),
  }));

/** Requests through all of four functions, most of which run slowly and could run fast in one of two slots. */
const contested: fc.Arbitrary<Case> = fc
  .tuple(
    fc.array(fc.tuple(fc.constantFrom(...'abcd'), whole(20, 99), whole(0, 4)), { maxLength: 6 }),
    fc.array(fc.constantFrom('board-9/0', 'board-9/1', null), { minLength: 4, maxLength: 4 }),
    whole(4, 250),
  )
  .map(([running, slots, latency_us]) => ({
    state: {
      functions: [...'abcd'],
      instances: running.map(([nf, us, rate_bps], i) => ({
        ...{ id: `run-${i}`, nf, place: PLACES[0]!, latency_us: us, measured: false },
        ...{ rate_bps, booked_bps: 0, measured_bps: 0 },
      })),
      options: slots.flatMap((slot, i) =>
        slot ? [{ id: `new-${i}`, nf: 'abcd'[i]!, place: PLACES[1]!, latency_us: 1, rate_bps: 9, slot, cost: 1 }] : [],
      ),
      entry_us: () => 0,
      transit_us: () => 0,
    },
    asked: [{ id: 'r', from: ['client-1'], match: [], functions: [...'abcd'], latency_us, throughput_bps: 1 }],
  }));

/** What is left of each instance, and which slots are taken, by the meaning of the words alone. */
class Ledger {
  private readonly booked = new Map<string, number>();
  readonly running = new Set<string>();

  constructor(private readonly state: LiveState) {
    for (const { id, booked_bps } of state.instances) {
      this.booked.set(id, booked_bps);
      this.running.add(id);
    }
  }

  leftOf(id: string): number {
    const { rate_bps, measured_bps } = this.all.find((it) => it.id === id)!;
    return Math.max(0, rate_bps - Math.max(this.booked.get(id) ?? 0, measured_bps));
  }

  get all() {
    return [
      ...this.state.instances.map((it) => ({ ...it, slot: null, cost: 0 })),
      ...this.state.options.map((it) => ({ ...it, measured_bps: 0 })),
    ];
  }

  /** The fewest costs and then the least latency of every way there is; `null`: none qualifies. */
  best({ functions, latency_us, throughput_bps }: AskedRequest): { cost: number; latency: number } | null {
    let best: { cost: number; latency: number } | null = null;
    const walk = (way: string[]) => {
      if (way.length < functions.length) {
        for (const { id, nf } of this.all) if (nf === functions[way.length]) walk([...way, id]);
        return;
      }
      const figures = this.figuresOf(way);
      const slots = figures.fresh.map(({ slot }) => slot);
      const taken = this.state.options.filter(({ id }) => this.running.has(id)).map(({ slot }) => slot);
      if (way.some((id) => this.leftOf(id) < throughput_bps) || figures.latency > latency_us) return;
      if (new Set([...slots, ...taken]).size < slots.length + taken.length) return;
      const { cost, latency } = figures;
      if (!best || cost < best.cost || (cost === best.cost && latency < best.latency)) best = { cost, latency };
    };
    walk([]);
    return best;
  }

  figuresOf(way: readonly string[]) {
    const stops = way.map((id) => this.all.find((it) => it.id === id)!);
    const fresh = stops.filter(({ id }) => !this.running.has(id));
    const latency = stops.reduce((sum, it, k) => {
      const before = stops[k - 1];
      const transit = !before
        ? this.state.entry_us(it.place)
        : before.place === it.place
          ? 0
          : this.state.transit_us(before.place, it.place);
      return sum + transit + it.latency_us;
    }, 0);
    return { latency, fresh, cost: fresh.reduce((sum, { cost }) => sum + cost, 0) };
  }

  book(way: readonly string[], bps: number): void {
    for (const id of way) {
      this.booked.set(id, (this.booked.get(id) ?? 0) + bps);
      this.running.add(id);
    }
  }
}

const admissions = (state: LiveState) => new Admissions({ state, ways: [], held: [], classes: 0, edges_left: 600 });

describe('requests in turn on a live state', () => {
  it('get the cheapest and then fastest way of all there are, and are refused exactly when there is none', () => {
    const seen = { accepted: 0, deployed: 0, refused: 0, late: 0, short: 0, second: 0 };
    fc.assert(
      fc.property(cases, fc.boolean(), ({ state, asked }, explains) => {
        const admission = admissions(state);
        const ledger = new Ledger(state);
        asked.forEach((request, i) => {
          const best = ledger.best(request);
          const decision = admission.decide(request, explains);
          expect(decision.accepted).toBe(best !== null);
          if (!decision.accepted) {
            seen.refused++;
            expect(decision.why.length).toBeGreaterThan(10);
            expect(decision.shortages.length).toBeGreaterThan(0);
            if (decision.shortages.some(({ constraint }) => constraint === 'latency')) seen.late++;
            if (decision.shortages.some(({ constraint }) => constraint === 'throughput')) seen.short++;
            return;
          }
          const { latency, cost, fresh } = ledger.figuresOf(decision.way.instances);
          expect({ cost, latency }).toEqual(best);
          expect(decision.latency_us).toBe(latency);
          expect(decision.deployments).toEqual(fresh.map(({ id }) => id));
          const sum = decision.stages.reduce((us, it) => us + it.transit_us + it.processing_us, 0);
          expect(sum).toBe(latency);
          ledger.book(decision.way.instances, request.throughput_bps);
          seen.accepted++;
          if (cost > 0) seen.deployed++;
          if (i > 0) seen.second++;
        });
      }),
      { numRuns: 800, seed: 29 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(50);
  });

  it('leave the state as it was once they are released: the same requests get the same ways again', () => {
    fc.assert(
      fc.property(cases, ({ state: drawn, asked }) => {
        const state = { ...drawn, options: [], instances: drawn.instances.map((it) => ({ ...it, measured_bps: 0 })) };
        const first = admissions(state);
        const before = asked.map((request) => first.decide(request, false));
        // Booked and released again, as the server adds it up: what is held is all that counts.
        const again = admissions(state);
        expect(asked.map((request) => again.decide(request, false))).toEqual(before);
        const held = before.flatMap((it, i) => (it.accepted ? [{ it, bps: asked[i]!.throughput_bps }] : []));
        const booked = (id: string) =>
          held.reduce((sum, { it, bps }) => sum + (it.way.instances.includes(id) ? bps : 0), 0);
        const later = admissions({
          ...state,
          instances: state.instances.map((it) => ({ ...it, booked_bps: it.booked_bps + booked(it.id) })),
        });
        const ledger = new Ledger(state);
        for (const { it, bps } of held) ledger.book(it.way.instances, bps);
        for (const request of asked) {
          const more = { ...request, id: 'more', match: [{ attribute: 'port.dst', op: 'is' as const, value: 99 }] };
          const best = ledger.best(more);
          const decision = later.decide(more, false);
          expect(decision.accepted).toBe(best !== null);
          if (decision.accepted) break;
        }
      }),
      { numRuns: 300, seed: 31 },
    );
  });

  it('share a way with those of the same instances, and get the lowest free number otherwise', () => {
    fc.assert(
      fc.property(cases, fc.uniqueArray(whole(1, 8), { maxLength: 5 }), ({ state, asked }, taken) => {
        const ways = taken.map((number) => ({ number, instances: [`other-${number}`] }));
        const admission = new Admissions({ state, ways, held: [], classes: 0, edges_left: 600 });
        const known = new Map(ways.map(({ number, instances }) => [instances.join(), number]));
        for (const request of asked) {
          const decision = admission.decide(request, false);
          if (!decision.accepted) continue;
          const key = decision.way.instances.join();
          const free = () => [...Array(20).keys()].map((n) => n + 1).find((n) => ![...known.values()].includes(n))!;
          expect(decision.way.number).toBe(known.get(key) ?? free());
          known.set(key, decision.way.number);
          // Each that is deployed has one of its own.
          for (const id of decision.deployments) known.set(id, known.get(id) ?? free());
        }
      }),
      { numRuns: 300, seed: 37 },
    );
  });

  it('are refused for reasons that are enough: without the bound none qualifies, or the bound is among them', () => {
    const seen = { late: 0, lacking: 0, both: 0, nearest: 0 };
    const reached = (decision: ReturnType<Admissions['decide']>) => (decision.accepted ? decision.latency_us : null);
    fc.assert(
      fc.property(contested, ({ state, asked }) => {
        for (const request of asked) {
          const refused = admissions(state).decide(request, true);
          if (refused.accepted) continue;
          const { shortages, why, nearest_us } = refused;
          const isLate = shortages.find(({ constraint }) => constraint === 'latency');
          const unbound = reached(admissions(state).decide({ ...request, latency_us: 1e9 }, true));
          if (!isLate) expect(unbound).toBeNull();
          seen[!isLate ? 'lacking' : shortages.length > 1 ? 'both' : 'late']++;
          // Each once, in the figures that the sentence has.
          expect(new Set(shortages.map(({ constraint, where }) => `${constraint} ${where}`)).size).toBe(
            shortages.length,
          );
          if (!isLate || unbound === null) continue;
          expect(why).toContain(` takes ${isLate.needed} µs`);
          expect(reached(admissions(state).decide({ ...request, latency_us: isLate.needed }, true))).toBe(
            isLate.needed,
          );
          expect(reached(admissions(state).decide({ ...request, latency_us: isLate.needed - 1 }, true))).toBeNull();
          expect(nearest_us).toBeLessThanOrEqual(isLate.needed);
          if (nearest_us! < isLate.needed) seen.nearest++;
        }
      }),
      { numRuns: 1500, seed: 47 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(5);
  });

  const one = (state: Partial<LiveState>): LiveState => ({
    functions: NFS,
    instances: [],
    options: [],
    entry_us: () => 0,
    transit_us: () => 1,
    ...state,
  });
  const option = { nf: 'ids', place: 'server-1', latency_us: 1, rate_bps: 9, cost: 1 };
  const slow = { id: 'r', from: ['client-1'], match: [], functions: ['ids'], latency_us: 99, throughput_bps: 1 };

  it('have an instance deployed with a way of its own, whose number no other way has', () => {
    const state = one({
      instances: [
        {
          id: 'run',
          nf: 'monitor',
          place: 'server-1',
          latency_us: 1,
          measured: false,
          rate_bps: 9,
          booked_bps: 0,
          measured_bps: 0,
        },
      ],
      options: [{ ...option, id: 'new', slot: 'board-9/0' }],
    });
    // The second one is that of an instance that does not work, which no pool lists as in use.
    const ways = [1, 2, 4].map((number) => ({ number, instances: [`other-${number}`] }));
    const admission = new Admissions({ state, ways, held: [], classes: 0, edges_left: 600 });
    const decision = admission.decide({ ...slow, functions: ['monitor', 'ids'] }, false);
    expect(decision).toMatchObject({ way: { number: 3 }, deployments: ['new'] });
    expect(admission.deployed).toMatchObject([{ option: { id: 'new' }, way: 5 }]);
    const tight = new Admissions({ state, ways, held: [], classes: 0, edges_left: 4 });
    expect(tight.decide({ ...slow, functions: ['monitor', 'ids'] }, false)).toMatchObject({
      accepted: false,
      shortages: [{ needed: 5, available: 4, unit: 'edges' }],
    });
    const alone = new Admissions({ state, ways, held: [], classes: 0, edges_left: 4 });
    expect(alone.decide(slow, false)).toMatchObject({ way: { number: 3 } });
    expect(alone.deployed).toMatchObject([{ way: 3 }]);
  });

  it('that miss a bound by little are refused in figures that differ', () => {
    const state = one({ entry_us: () => 7.03, options: [{ ...option, id: 'new', slot: 'board-9/0' }] });
    const give = (asked: Partial<AskedRequest>) =>
      new Admissions({ state, ways: [], held: [], classes: 0, edges_left: 600 }).decide({ ...slow, ...asked }, true);
    expect(give({})).toMatchObject({ latency_us: expect.closeTo(8.03, 9) });
    expect(give({ latency_us: 8.0296 })).toMatchObject({
      why: 'The fastest way takes 8.03 µs, and the bound is 8.0296 µs.',
    });
    expect(give({ throughput_bps: 9.00001 })).toMatchObject({
      why: expect.stringContaining('0.000009 Mbit/s left of 0.00000900001 Mbit/s'),
    });
  });

  it('of several pools in one call take no packet and no slot of each other', () => {
    const booked = new ClassIndex();
    const make = (id: string) =>
      new Admissions({
        state: one({ options: [{ ...option, id, slot: 'board-9/0' }] }),
        ways: [],
        held: [],
        booked,
        classes: 0,
        edges_left: 600,
        nameOf: (name) => `the request "${name}"`,
      });
    const [first, second] = [make('a'), make('b')];
    const port = (value: number) => [{ attribute: 'port.dst', op: 'is' as const, value }];
    expect(first.decide({ ...slow, match: port(1) }, false).accepted).toBe(true);
    second.block('board-9/0');
    expect(second.decide({ ...slow, id: 's', match: port(1) }, false)).toMatchObject({
      why: expect.stringContaining('belong to the request "r" already'),
      shortages: [{ constraint: 'classifier', where: 'r' }],
    });
    expect(second.decide({ ...slow, id: 's', match: port(2) }, false)).toMatchObject({
      accepted: false,
      shortages: [{ constraint: 'capacity', where: 'board-9/0' }],
    });
  });

  it('are refused, with the bound, where the chain of the pool is full', () => {
    const state: LiveState = {
      functions: NFS,
      instances: NFS.map((nf) => ({
        id: nf,
        nf,
        place: 'server-1',
        latency_us: 1,
        measured: false,
        rate_bps: 9,
        booked_bps: 0,
        measured_bps: 0,
      })),
      options: [],
      entry_us: () => 0,
      transit_us: () => 1,
    };
    const asked = { id: 'r', from: ['client-1'], match: [], functions: NFS, latency_us: 99, throughput_bps: 1 };
    const given = { state, ways: [], held: [], classes: 0 };
    expect(new Admissions({ ...given, edges_left: 4 }).decide(asked, false).accepted).toBe(true);
    expect(new Admissions({ ...given, edges_left: 3 }).decide(asked, false)).toMatchObject({
      accepted: false,
      shortages: [{ needed: 4, available: 3, unit: 'edges' }],
    });
    // What takes a way that is there needs no edge.
    const more = [...state.instances, { ...state.instances[0]!, id: 'slow', latency_us: 9 }];
    const instances = more.map((it) => ({ ...it, rate_bps: it.id === 'slow' ? 1 : 9 }));
    const ways = [
      ['slow', 'firewall', 'ids'],
      ['firewall', 'ids'],
      ['gone', 'firewall', 'ids'],
    ];
    const full = { ...given, state: { ...state, instances }, edges_left: 0 };
    const known = (latency_us: number, used = ways) => {
      const admission = new Admissions({ ...full, ways: used.map((each, i) => ({ number: i + 1, instances: each })) });
      const match = (value: number) => [{ attribute: 'port.dst', op: 'is' as const, value }];
      return [1, 2].map((port) => admission.decide({ ...asked, latency_us, match: match(port) }, port === 1));
    };
    const [first, second] = known(99);
    expect(first).toMatchObject({ way: { number: 1 }, latency_us: 11, deployments: [] });
    expect(second).toMatchObject({ accepted: false, shortages: [{ unit: 'edges' }] });
    expect(known(10)[0]).toMatchObject({ accepted: false, shortages: [{ unit: 'edges' }] });
    expect(known(99, [...ways, NFS])[0]).toMatchObject({ way: { number: 4 }, latency_us: 3 });
    expect(new Admissions({ ...given, classes: 4096, edges_left: 9 }).decide(asked, false).accepted).toBe(false);
  });
});

const terms = fc.uniqueArray(
  fc.oneof(
    fc.record({
      attribute: fc.constant('ip.dst'),
      op: fc.constantFrom('is' as const, 'is-not' as const),
      value: fc.constantFrom('10.0.0.1', '10.0.0.0/30', '10.0.0.2'),
    }),
    fc.record({
      attribute: fc.constant('port.dst'),
      op: fc.constant('is' as const),
      value: fc.constantFrom(80, 81, '80-81'),
    }),
    fc.record({
      attribute: fc.constant('ip.proto'),
      op: fc.constantFrom('is' as const, 'is-not' as const),
      value: fc.constantFrom('tcp', 'udp', 'icmp'),
    }),
  ),
  { maxLength: 3, selector: ({ attribute }) => attribute },
);

describe('the index of classes', () => {
  const packets = [0x0a000001, 0x0a000002, 0x0a000003, 0x0b000000].flatMap((dst) =>
    [1, 6, 17].flatMap((proto) =>
      [80, 81, 82].map((port) => packet({ 'ip.dst': dst, 'ip.proto': proto, 'port.dst': port })),
    ),
  );

  it('finds a conflict exactly where some packet is of both', () => {
    const seen = { conflict: 0, none: 0 };
    fc.assert(
      fc.property(
        fc.array(fc.record({ host: fc.constantFrom('a', 'b'), match: terms }), { maxLength: 4 }),
        fc.record({ host: fc.constantFrom('a', 'b'), match: terms }),
        fc.nat(6),
        (added, asked, removed) => {
          const index = new ClassIndex();
          added.forEach(({ host, match }, i) => {
            index.add({ id: `r-${i}`, from: [host], match });
          });
          index.remove(`r-${removed}`);
          const held = added.filter((_, i) => i !== removed);
          const isOf = (match: typeof asked.match) =>
            packets.filter((it) => match.every((term) => matchesTerm(it, term)));
          const meets = held.some(
            ({ host, match }) => host === asked.host && isOf(match).some((it) => isOf(asked.match).includes(it)),
          );
          expect(index.conflictOf({ id: 'asked', from: [asked.host], match: asked.match }) !== null).toBe(meets);
          seen[meets ? 'conflict' : 'none']++;
        },
      ),
      { numRuns: 1500, seed: 41 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(200);
  });
});

describe('the instances of a pool', () => {
  it('have names of their own, however alike those of their NFs are', () => {
    const alike = 'a-filter-with-a-name-of-thirty-nine-char';
    const nfs = [`${alike.slice(0, 39)}a`, `${alike.slice(0, 39)}b`, 'ids'].map((nf) => ({
      nf,
      config: {},
      count: 12,
      rate_bps: 1000,
    }));
    const ids = firstInstances({ nfs }).map(({ id }) => id);
    expect(new Set(ids).size).toBe(36);
    expect(ids.filter((id) => id.length > 40)).toEqual([]);
    expect(ids.slice(24)).toContain('ids-12');
  });
});

describe('the chain of a pool', () => {
  const pool = {
    name: 'pool',
    title: 'Pool',
    hosts: ['client-1', 'client-2'],
    nfs: NFS.map((nf) => ({ nf, config: {}, count: 2, rate_bps: 10 })),
    packet_bytes: 800,
    deploys: false,
  };

  it('has no errors, and plans every instance for its whole rate, whatever requests hold', () => {
    const instances = firstInstances(pool);
    fc.assert(
      fc.property(
        fc.array(fc.record({ picks: fc.array(whole(0, 2), { minLength: 3, maxLength: 3 }), bps: whole(1, 3) }), {
          maxLength: 6,
        }),
        (drawn) => {
          const numbers = new Map(instances.map(({ id, way }) => [id, way]));
          const held = drawn.flatMap(({ picks, bps }, i): HeldRequest[] => {
            const ids = picks.flatMap((pick, k) => (pick === 0 ? [] : [`${NFS[k]}-${pick}`]));
            if (ids.length === 0) return [];
            if (!numbers.has(ids.join())) numbers.set(ids.join(), numbers.size + 1);
            const match = [{ attribute: 'port.dst', op: 'is' as const, value: i }];
            const way = { number: numbers.get(ids.join())!, instances: ids };
            return [{ id: `r-${i}`, from: ['client-1'], match, throughput_bps: bps, way }];
          });
          const definition = poolChain(pool, instances, held);
          const found = validateChain(definition, {
            descriptors: CATALOGUE,
            hosts: [{ id: 'client-1' }, { id: 'client-2' }],
          });
          expect(found.filter(({ severity }) => severity === 'error')).toEqual([]);
          for (const { id } of instances) {
            const into = definition.edges.filter(({ to }) => to === id).reduce((sum, it) => sum + it.rate_bps!, 0);
            const booked = held
              .filter(({ way }) => way.instances.includes(id))
              .reduce((sum, it) => sum + it.throughput_bps, 0);
            expect(into).toBe(Math.max(10, booked));
          }
        },
      ),
      { numRuns: 200, seed: 43 },
    );
  });
});
