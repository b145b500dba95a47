import fc from 'fast-check';
import type { Placement } from '../placement/place.js';
import type { Bin, Flow, Item, PlacementProblem } from '../placement/problem.js';

export const BUDGET = 0.85;

/** Small placement problems in which every limit may bind. */
export function arbitraryProblem(maxItems: number, maxBins: number): fc.Arbitrary<PlacementProblem> {
  return fc.integer({ min: 1, max: maxItems }).chain((n) =>
    fc
      .record({
        items: fc.array(
          fc.record({
            cycles: fc.integer({ min: 1, max: 80 }),
            memory: fc.integer({ min: 0, max: 50 }),
            inside: fc.integer({ min: 0, max: 20 }),
            outside: fc.integer({ min: 0, max: 20 }),
          }),
          { minLength: n, maxLength: n },
        ),
        flows: fc.array(
          fc.record({ from: fc.nat(n - 1), to: fc.nat(n - 1), rate_bps: fc.integer({ min: 0, max: 30 }) }),
          { maxLength: 2 * n },
        ),
        bins: fc.array(
          fc.record({
            cores: fc.integer({ min: 1, max: 3 }),
            memory_bytes: fc.integer({ min: 30, max: 200 }),
            link_bps: fc.integer({ min: 20, max: 150 }),
            hz: fc.constantFrom(1e9, 2e9),
          }),
          { minLength: 1, maxLength: maxBins },
        ),
        available: fc.constantFrom(3, 5, 100),
      })
      .map(({ items, flows, bins, available }) => ({
        items: items.map(
          (it, i): Item => ({
            id: `i${i}`,
            cycles_per_second: it.cycles * 1e7,
            memory_bytes: it.memory,
            outside_in_bps: it.inside,
            outside_out_bps: it.outside,
          }),
        ),
        flows: flows.filter(({ from, to }) => from !== to),
        bins: bins.map((it, i): Bin => ({ ...it, id: `b${i}`, link_constraint: 'nic-bandwidth' })),
        table: { fixed: 2, available, where: 'switch-1' },
      })),
  );
}

/** The problem with some items that only some servers host. */
export function withHosts(problem: PlacementProblem): fc.Arbitrary<PlacementProblem> {
  const bins = [...problem.bins.keys()];
  const hosts = fc.option(fc.subarray(bins, { minLength: 1 }), { nil: null });
  return fc.array(hosts, { minLength: problem.items.length, maxLength: problem.items.length }).map((drawn) => ({
    ...problem,
    items: problem.items.map((item, i) =>
      drawn[i] ? { ...item, hosts: { bins: new Set(drawn[i]), lack: 'container runtime' } } : item,
    ),
  }));
}

/** Server by item; -1: none. */
export function binsOf({ places }: Pick<Placement, 'places'>): number[] {
  return places.map((place) => place?.bin ?? -1);
}

/** Crossing traffic of an assignment of items to bins, from the flows alone. */
export function cutOf(flows: readonly Flow[], bin: ArrayLike<number>): number {
  return flows.reduce((sum, { from, to, rate_bps }) => sum + (bin[from] === bin[to] ? 0 : rate_bps), 0);
}

/** Whether items can be divided over cores so that none exceeds the budget, by trying every way. */
function coresSuffice(shares: readonly number[], cores: number): boolean {
  const load = new Array<number>(cores).fill(0);
  const next = (i: number): boolean =>
    i === shares.length ||
    load.some((used, core) => {
      if (used + shares[i]! > BUDGET + 1e-9 || load.indexOf(used) < core) return false;
      load[core]! += shares[i]!;
      const ok = next(i + 1);
      load[core]! -= shares[i]!;
      return ok;
    });
  return next(0);
}

/** What an assignment overbooks or puts on no host, from the definitions alone; cores are chosen as well as can be. */
export function overbooked({ items, flows, bins, table }: PlacementProblem, bin: ArrayLike<number>): string[] {
  const faults: string[] = [];
  items.forEach(({ hosts }, i) => {
    if (hosts && !hosts.bins.has(bin[i]!)) faults.push(`host ${i}`);
  });
  bins.forEach((server, b) => {
    const here = items.filter((_, i) => bin[i] === b);
    if (
      !coresSuffice(
        here.map((it) => it.cycles_per_second / server.hz),
        server.cores,
      )
    )
      faults.push(`cpu ${b}`);
    if (here.reduce((sum, it) => sum + it.memory_bytes, 0) > server.memory_bytes) faults.push(`memory ${b}`);
    const crossing = (end: 'from' | 'to') =>
      flows
        .filter((flow) => bin[flow[end]] === b && bin[flow.from] !== bin[flow.to])
        .reduce((sum, { rate_bps }) => sum + rate_bps, 0);
    const into = here.reduce((sum, it) => sum + it.outside_in_bps, crossing('to'));
    const out = here.reduce((sum, it) => sum + it.outside_out_bps, crossing('from'));
    if (Math.max(into, out) > server.link_bps * (1 + 1e-9)) faults.push(`link ${b}`);
  });
  const hops = new Set(flows.filter(({ from, to }) => bin[from] !== bin[to]).map(({ to }) => to));
  if (table.fixed + hops.size > table.available) faults.push('table');
  return faults;
}

/** The least crossing traffic of all assignments that overbook nothing; `null` when there is none. */
export function bestCut(problem: PlacementProblem): number | null {
  const n = problem.items.length;
  const s = problem.bins.length;
  const bin = new Int32Array(n);
  let best: number | null = null;
  for (let code = 0; code < s ** n; code++) {
    for (let i = 0, rest = code; i < n; i++, rest = Math.floor(rest / s)) bin[i] = rest % s;
    const cut = cutOf(problem.flows, bin);
    if ((best === null || cut < best) && overbooked(problem, bin).length === 0) best = cut;
  }
  return best;
}
