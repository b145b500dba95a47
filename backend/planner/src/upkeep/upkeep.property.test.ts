import { type Infrastructure, nfInstances, type Plan } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PlanInput } from '../plan/input.js';
import { makePlan } from '../plan/make-plan.js';
import { hopDelay } from '../slo/latency.js';
import { overheadsOf } from '../slo/overhead.js';
import { ofOwnPort } from '../testing/chains.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import type { Move } from './better-places.js';
import type { WayBound } from './bounded-ways.js';
import { compareWithBest, type UpkeepComparison } from './compare.js';
import { decideUpkeep, NO_UPKEEP_MEMORY, type UpkeepRules } from './decide.js';
import type { MeasuredLoad } from './measured-graph.js';

const RATE_BPS = 2e9;
const RULES: UpkeepRules = { min_gain_percent: 10, min_gain_bps: 1e6, hold_s: 0 };

const inputOf = (chains: number, servers: number, cores: number): Omit<PlanInput, 'base'> => ({
  id: 'plan',
  created_ms: 0,
  chains: Array.from({ length: chains }, (_, i) => ofOwnPort(i, RATE_BPS)),
  descriptors: CATALOGUE,
  infrastructure: rack({ servers, cores }),
  infrastructure_revision: 2,
  budget: { steps: 20 },
});

/** Placed without regard to traffic, for an infrastructure that has changed since. */
function scattered(input: Omit<PlanInput, 'base'>, seed: number): Plan | null {
  const options = { strategy: 'random', seed } as const;
  const plan = makePlan({ ...input, options, infrastructure_revision: 1, base: null });
  return plan.feasible ? plan : null;
}

/** Each chain at a multiple of its planned rate, and each packet at a multiple of its planned cost. */
function loadsOf({ graph }: Plan, rates: readonly number[], cost = 1): MeasuredLoad[] {
  return nfInstances(graph).map(({ id, chain_id, load_bps, core_share }) => {
    const rate = rates[Number(chain_id.slice(2))]!;
    return { instance: id, bps: load_bps * rate, core_share: core_share * rate * cost };
  });
}

const compared = (input: Omit<PlanInput, 'base'>, base: Plan, loads: MeasuredLoad[], max_moved = 99) =>
  compareWithBest({ input: { ...input, base }, loads, max_moved, held: [] });
const verdictOf = (comparison: UpkeepComparison) => decideUpkeep(RULES, comparison, NO_UPKEEP_MEMORY, 0);

/** By the definition: what leaves an instance for one on another server, at the rate of its chain. */
function crossing({ graph }: Plan, rates: readonly number[]): number {
  const server = new Map(nfInstances(graph).map((it) => [it.id, it.server]));
  return graph.edges.reduce((sum, { from, to, chain_id, rate_bps }) => {
    const [a, b] = [from === null ? undefined : server.get(from), server.get(to)];
    return a && b && a !== b ? sum + rate_bps * rates[Number(chain_id.slice(2))]! : sum;
  }, 0);
}

const sites = fc.record({
  chains: fc.integer({ min: 2, max: 4 }),
  servers: fc.integer({ min: 2, max: 4 }),
  cores: fc.integer({ min: 1, max: 3 }),
  seed: fc.integer({ min: 1, max: 50 }),
});
const rates = fc.array(fc.constantFrom(0, 0.2, 0.5, 1, 1.05, 1.5), { minLength: 5, maxLength: 5 });

describe('upkeep of placements', () => {
  it('keeps what was placed at once and measures as planned', () => {
    let seen = 0;
    fc.assert(
      fc.property(sites, fc.double({ min: 0.95, max: 1.05, noNaN: true }), ({ chains, servers, cores }, noise) => {
        const input = inputOf(chains, servers, cores);
        const base = makePlan({ ...input, options: { strategy: 'random' }, base: null });
        if (!base.feasible) return;
        seen++;
        expect(verdictOf(compared(input, base, loadsOf(base, Array(5).fill(noise)))).verdict).toBe('keep');
      }),
      { numRuns: 8 },
    );
    expect(seen).toBeGreaterThan(3);
  });

  it('advises what is better by what is measured, and keeps it once it runs', () => {
    // Without traffic every placement is as good; so that both verdicts are seen whatever is generated.
    const site = { chains: 3, servers: 3, cores: 2 };
    const seeds = [1, 2, 3];
    const seen = { advised: 0, kept: 0 };
    fc.assert(
      fc.property(sites, rates, ({ chains, servers, cores, seed }, measured) => {
        const input = inputOf(chains, servers, cores);
        const base = scattered(input, seed);
        if (!base) return;
        const found = compared(input, base, loadsOf(base, measured));
        expect(found.before.cross_traffic_bps).toBeCloseTo(crossing(base, measured), -1);
        const { verdict, gain } = verdictOf(found);
        if (verdict === 'keep') {
          seen.kept++;
          return;
        }
        seen.advised++;
        const { plan, after, moves, moved } = found.better!;
        expect(plan.feasible).toBe(true);
        expect(after.cross_traffic_bps).toBeCloseTo(crossing(plan, measured), -1);
        expect(moved.map(({ instance, to }) => ({ instance, server: to }))).toEqual(expect.arrayContaining([...moves]));
        const [first] = [gain!.objectives, gain!.overloaded_cores, gain!.cross_traffic_bps].filter((it) => it !== 0);
        expect(first).toBeGreaterThan(0);
        const again = compared({ ...input, id: 'again' }, plan, loadsOf(plan, measured));
        expect(verdictOf(again).verdict).toBe('keep');
      }),
      {
        numRuns: 24,
        examples: seeds.flatMap((seed) => [
          [{ ...site, seed }, Array(5).fill(0)],
          [{ ...site, seed }, Array(5).fill(1)],
        ]),
      },
    );
    expect(seen.advised).toBeGreaterThan(5);
    expect(seen.kept).toBeGreaterThan(1);
  });

  it('moves no more than it may, and holds on to moves that are as good', () => {
    let seen = 0;
    fc.assert(
      fc.property(sites, rates, fc.integer({ min: 1, max: 3 }), ({ chains, servers, cores, seed }, measured, most) => {
        const input = inputOf(chains, servers, cores);
        const base = scattered(input, seed);
        if (!base) return;
        const loads = loadsOf(base, measured);
        const { better } = compared(input, base, loads, most);
        if (!better) return;
        seen++;
        expect(better.moved.length).toBeLessThanOrEqual(most);
        const held = compareWithBest({ input: { ...input, base }, loads, max_moved: most, held: better.moves });
        expect(held.better?.moves).toEqual(better.moves);
      }),
      { numRuns: 8 },
    );
    expect(seen).toBeGreaterThan(3);
  });
});

describe('what has too much to do', () => {
  const fullCores = ({ graph }: Plan, shares: ReadonlyMap<string, number>) => {
    const use = new Map<string, number>();
    for (const { id, pgraph_node, server, core } of nfInstances(graph)) {
      const share = shares.get(id) ?? shares.get(pgraph_node)!;
      use.set(`${server}/${core}`, (use.get(`${server}/${core}`) ?? 0) + share);
    }
    return [...use.values()].filter((used) => used > 0.85 + 1e-9).length;
  };

  it('is relieved wherever one move relieves a core, also where another core of its server is free', () => {
    const seen = { relieved: 0, cores: new Set<number>() };
    const shares = fc.array(fc.constantFrom(0.01, 0.2, 0.45, 0.6), { minLength: 9, maxLength: 9 });
    fc.assert(
      fc.property(sites, shares, ({ chains, servers, cores, seed }, given) => {
        const input = inputOf(Math.min(chains, 2), servers, cores + 1);
        const base = scattered(input, seed);
        if (!base) return;
        const running = nfInstances(base.graph);
        const loads = running.map(({ id, load_bps }, i) => ({ instance: id, bps: load_bps, core_share: given[i]! }));
        const share = new Map(running.map(({ id }, i) => [id, Math.max(given[i]!, running[i]!.core_share)]));
        const real = new Map(running.map(({ id }, i) => [id, given[i]!]));
        const byNf = new Map(running.map(({ pgraph_node }, i) => [pgraph_node, given[i]!]));
        const before = fullCores(base, real);
        if (before === 0) return;
        // By the definition: what an instance needs is what was planned, or what it takes, if that is more.
        const need = new Map<string, number>();
        for (const { id, server, core } of running)
          need.set(`${server}/${core}`, (need.get(`${server}/${core}`) ?? 0) + share.get(id)!);
        const takes = new Map<string, number>();
        for (const { id, server, core } of running)
          takes.set(`${server}/${core}`, (takes.get(`${server}/${core}`) ?? 0) + real.get(id)!);
        const isRelievable = running.some(({ id, server, core }) => {
          const left = takes.get(`${server}/${core}`)!;
          if (left <= 0.85 || left - real.get(id)! > 0.85 - 1e-6) return false;
          return input.infrastructure.servers.some(
            (other) =>
              other.id !== server &&
              Array.from({ length: other.cores }, (_, k) => need.get(`${other.id}/${k}`) ?? 0).every(
                (used) => used + share.get(id)! < 0.85 - 1e-6,
              ),
          );
        });
        if (!isRelievable) return;
        const { better } = compared(input, base, loads);
        expect(better?.after.overloaded.length).toBeLessThan(before);
        expect(fullCores(better!.plan, byNf)).toBe(better!.after.overloaded.length);
        seen.relieved++;
        seen.cores.add(cores + 1);
      }),
      { numRuns: 40, seed: 5 },
    );
    expect(seen.relieved).toBeGreaterThan(4);
    expect(seen.cores.size).toBe(3);
  });

  it('changes no advice for other chains where it fits nowhere', () => {
    let seen = 0;
    const wrong = fc.record({ share: fc.constantFrom(0.86, 0.99, 3), bps: fc.constantFrom(1e9, 2e11) });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), wrong, (seed, { share, bps }) => {
        const plain = inputOf(2, 3, 3);
        const alone = { ...plain.chains[1]!, definition: alonePart(plain.chains[1]!.definition) };
        const input = { ...plain, chains: [plain.chains[0]!, alone] };
        const base = scattered(input, seed);
        if (!base) return;
        const other = nfInstances(base.graph).find(({ chain_id }) => chain_id === 'p-1')!;
        if (nfInstances(base.graph).some((it) => it.id !== other.id && it.server === other.server)) return;
        const loads = loadsOf(base, Array(5).fill(1));
        const movesWith = (load: Partial<MeasuredLoad>) =>
          compared(
            input,
            base,
            loads.map((it) => (it.instance === other.id ? { ...it, ...load } : it)),
          ).better?.moves;
        const expected = movesWith({});
        if (expected) seen++;
        expect(movesWith({ core_share: share })).toEqual(expected);
        expect(movesWith({ bps })).toEqual(expected);
      }),
      { numRuns: 30, seed: 5 },
    );
    expect(seen).toBeGreaterThan(2);
  });

  const alonePart = (definition: Plan['chains'][number]['definition']) => ({
    ...definition,
    nodes: definition.nodes.filter(({ id }) => !['mon', 'fw'].includes(id)),
    edges: [
      { ...definition.edges[0]!, to: 'ids' },
      { ...definition.edges.at(-1)!, id: 'e1' },
    ],
  });
});

describe('bounds of ways', () => {
  /** Ways through instances of two chains, which other traffic draws apart; each is to take this part of what it takes now. */
  const waysOf = ({ graph, chains }: Plan, network: Infrastructure, parts: readonly number[]): WayBound[] =>
    chains.map((_, i) => {
      const passed = ['mon', 'fw', 'ids'].map((node, k) => {
        const { chain_id } = chains[(i + (k % 2)) % chains.length]!;
        return nfInstances(graph).find((it) => it.chain_id === chain_id && it.node_id === node)!;
      });
      const stops = passed.map(({ id, server }) => ({ instance: id, place: server, latency_us: 5 }));
      return { stops, most_us: between(stops, network, new Map()) * parts[i]! };
    });
  /** By the definition: hops wherever two instances stand on different servers; what all ways take is left out. */
  const between = (stops: WayBound['stops'], network: Infrastructure, moved: ReadonlyMap<string, string>) => {
    const places = stops.map(({ instance, place }) => moved.get(instance) ?? place);
    return places.slice(1).reduce((sum, to, i) => sum + (to === places[i] ? 0 : hopDelay(network, places[i]!, to)), 0);
  };

  it('guide the search: none is missed by advice that was met, and one that is missed is met by a move, traffic or not', () => {
    const seen = { guided: 0, mended: 0 };
    const parts = fc.array(fc.constantFrom(0.6, 1, 1, 1.6), { minLength: 5, maxLength: 5 });
    const delays = fc.array(fc.constantFrom(0, 40, 400), { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(sites, rates, parts, delays, ({ chains, servers, cores, seed }, measured, part, delay) => {
        const plain = inputOf(chains, servers, cores);
        const { infrastructure: flat } = plain;
        const links = flat.links.map((link, i) => ({ ...link, delay_us: delay[i] ?? 0 }));
        const infrastructure = { ...flat, links };
        const input = { ...plain, infrastructure };
        const base = scattered(input, seed);
        if (!base) return;
        const same = waysOf(base, infrastructure, part);
        // Every way also enters the first engine, and passes its instances.
        const entry = 15 + overheadsOf(undefined).entry('server-1').mean_us;
        const ways = same.map((way) => ({ ...way, most_us: way.most_us + entry }));
        const loads = loadsOf(base, measured);
        const find = (given: WayBound[]) =>
          compareWithBest({ input: { ...input, base }, loads, max_moved: 99, held: [], ways: given }).better;
        const missed = (moves: readonly Move[]) => {
          const to = new Map(moves.map(({ instance, server }) => [instance, server]));
          return same.filter(({ stops, most_us }) => between(stops, infrastructure, to) > most_us + 1e-6).length;
        };
        const [free, guided, now] = [find([]), find(ways), missed([])];
        if (!guided) return;
        const then = missed(guided.moves);
        expect(then).toBeLessThanOrEqual(now);
        if (free && missed(free.moves) > now) seen.guided++;
        if (then < now) seen.mended++;
        expect(then < now || guided.after.cross_traffic_bps < crossing(base, measured)).toBe(true);
      }),
      { numRuns: 24, seed: 11 },
    );
    expect(seen.guided).toBeGreaterThan(0);
    expect(seen.mended).toBeGreaterThan(0);
  });

  it('have what runs as planned searched where one is missed', () => {
    const input = inputOf(2, 3, 3);
    const base = makePlan({ ...input, options: { strategy: 'random', seed: 3 }, base: null });
    const ways = waysOf(base, input.infrastructure, [0.1, 0.1]);
    const why = (given: WayBound[]) =>
      compareWithBest({
        input: { ...input, base },
        loads: loadsOf(base, Array(5).fill(1)),
        max_moved: 99,
        held: [],
        ways: given,
      }).why;
    expect(why([])).toBe('It runs as it was planned.');
    expect(why(ways)).not.toBe('It runs as it was planned.');
  });
});

const figures = (cross_traffic_bps: number, missed: string[] = [], overloaded: string[] = []) => ({
  cross_traffic_bps,
  total_traffic_bps: 1e9,
  cores: 1,
  overloaded,
  missed,
});

describe('the verdict', () => {
  const decide = (
    before: ReturnType<typeof figures>,
    after: ReturnType<typeof figures> | null,
    memory = NO_UPKEEP_MEMORY,
    nowMs = 0,
    hold_s = 60,
  ) => decideUpkeep({ ...RULES, hold_s }, { why: 'nothing', before, better: after && { after } }, memory, nowMs);

  it('never changes twice within the hold time, and not for a gain that comes and goes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ waitMs: fc.integer({ min: 1, max: 50_000 }), other: fc.boolean() }), {
          minLength: 1,
          maxLength: 60,
        }),
        (looks) => {
          let [nowMs, at, memory] = [0, 'a', NO_UPKEEP_MEMORY];
          const applied: number[] = [];
          /** Since when the other of the two placements has been better at each look. */
          let since: number | null = null;
          for (const { waitMs, other } of looks) {
            nowMs += waitMs;
            const best = other ? 'b' : 'a';
            if (best === at) since = null;
            else since ??= nowMs;
            const decision = decide(figures(1e8), best === at ? null : figures(5e7), memory, nowMs);
            memory = decision.memory;
            if (decision.verdict !== 'advise') continue;
            expect(nowMs - since!).toBeGreaterThanOrEqual(60_000);
            expect(nowMs - (applied.at(-1) ?? Number.NEGATIVE_INFINITY)).toBeGreaterThanOrEqual(60_000);
            applied.push(nowMs);
            [at, since] = [best, null];
            memory = NO_UPKEEP_MEMORY;
          }
        },
      ),
    );
  });

  it('puts objectives first, then cores, then traffic by both limits', () => {
    const verdict = (...given: Parameters<typeof decide>) => decide(given[0], given[1], NO_UPKEEP_MEMORY, 0, 0);
    expect(verdict(figures(1e8, ['a/x']), figures(2e8))).toMatchObject({ verdict: 'advise', gain: { objectives: 1 } });
    expect(verdict(figures(1e8), figures(0, ['a/x'])).verdict).toBe('keep');
    expect(verdict(figures(1e8, ['a/x']), figures(0, ['b/x'])).verdict).toBe('keep');
    expect(verdict(figures(1e8, [], ['s/0']), figures(2e8)).verdict).toBe('advise');
    expect(verdict(figures(1e8), figures(0, [], ['s/0'])).verdict).toBe('keep');
    expect(verdict(figures(1e8), figures(0.95e8)).verdict).toBe('keep');
    expect(verdict(figures(1e6), figures(0.5e6)).verdict).toBe('keep');
    expect(verdict(figures(1e8), figures(0.9e8))).toMatchObject({
      verdict: 'advise',
      gain: { cross_traffic_bps: 1e7, cross_traffic_percent: 10 },
    });
  });

  it('tells when it has to be looked at again', () => {
    const first = decide(figures(1e8), figures(0), NO_UPKEEP_MEMORY, 1000);
    expect(first).toMatchObject({ verdict: 'keep', dueMs: 61_000 });
    expect(decide(figures(1e8), figures(0), first.memory, 61_000).verdict).toBe('advise');
  });
});
