import type { Budget } from '../../budget.js';
import type { Random } from '../../random.js';
import { type Bins, type ChainPacking, fitsBin, unionOf } from './chains.js';
import { weightOf } from './problem.js';

/** Each chain into the first bin that takes it (HydraNF 6.4.1). */
export function firstFit(packing: ChainPacking): Bins {
  const bins: number[][] = [];
  const unions: number[] = [];
  packing.chains.forEach((chain, c) => {
    let b = unions.findIndex((union) => fitsBin(packing, union | chain));
    if (b === -1) {
      b = bins.push([]) - 1;
      unions.push(0);
    }
    bins[b]!.push(c);
    unions[b]! |= chain;
  });
  return bins;
}

/**
 * Each chain into the bin with which it shares most, even when that overloads it; then those that share least leave the
 * bin for the end of the queue, and never come back to it (HydraNF 6.4.1).
 */
export function overloadAndRemove(packing: ChainPacking): Bins {
  const { chains, relation } = packing;
  const bins: number[][] = [];
  const banned = chains.map(() => new Set<number>());
  const queue = chains.map((_, c) => c);
  const sharedIn = (bin: readonly number[], c: number) =>
    weightOf(
      relation,
      unionOf(
        packing,
        bin.filter((other) => other !== c),
      ) & chains[c]!,
    );
  for (let c = queue.shift(); c !== undefined; c = queue.shift()) {
    let home = -1;
    let most = 0;
    bins.forEach((bin, b) => {
      if (banned[c]!.has(b)) return;
      const shared = sharedIn(bin, c);
      if (shared > most || (home === -1 && fitsBin(packing, unionOf(packing, bin) | chains[c]!)))
        [home, most] = [b, shared];
    });
    if (home === -1) home = bins.push([]) - 1;
    const bin = bins[home]!;
    bin.push(c);
    while (!fitsBin(packing, unionOf(packing, bin))) {
      const others = bin.filter((other) => other !== c);
      const out = others.reduce((least, it) => (sharedIn(bin, it) < sharedIn(bin, least) ? it : least));
      bin.splice(bin.indexOf(out), 1);
      banned[out]!.add(home);
      queue.push(out);
    }
  }
  return bins.filter((bin) => bin.length > 0);
}

const POPULATION = 30;

/**
 * Genetic packing (HydraNF 6.4.1): a mutation moves one chain to another bin, a crossover exchanges a stretch of chains,
 * and the cost counts bins, then what the last one holds; overloaded bins are fined. A step is a generation.
 */
export function genetic(packing: ChainPacking, budget: Budget, random: Random): Bins {
  const m = packing.chains.length;
  if (m < 2) return firstFit(packing);
  const pick = (below: number) => Math.floor(random() * below);
  const start = assignmentOf(firstFit(packing), m);
  let herd = Array.from({ length: POPULATION }, (_, i) =>
    judged(packing, i === 0 ? start : start.map((b) => (random() < 0.2 ? pick(m) : b))),
  );
  const parent = () => {
    const [a, b] = [herd[pick(POPULATION)]!, herd[pick(POPULATION)]!];
    return a.cost <= b.cost ? a : b;
  };
  for (let step = 0; step < budget.steps && !budget.expired?.(); step++) {
    const best = herd.reduce((a, b) => (b.cost < a.cost ? b : a));
    const children = Array.from({ length: POPULATION - 1 }, () => {
      const [a, b] = [parent().genes, parent().genes];
      const [from, to] = [pick(m), pick(m)].sort((x, y) => x - y) as [number, number];
      const genes = a.map((gene, i) => (i >= from && i <= to ? b[i]! : gene));
      genes[pick(m)] = genes[pick(m)]!;
      return judged(packing, genes);
    });
    herd = [best, ...children];
  }
  const best = herd.reduce((a, b) => (b.cost < a.cost ? b : a));
  return binsOf(best.genes);
}

interface Judged {
  readonly genes: readonly number[];
  readonly cost: number;
}

function judged(packing: ChainPacking, genes: readonly number[]): Judged {
  const unions = binsOf(genes).map((bin) => unionOf(packing, bin));
  const { relation, capacity_us } = packing;
  const all = weightOf(relation, 2 ** relation.n - 1) || 1;
  const over = unions.reduce(
    (sum, it) => sum + (fitsBin(packing, it) ? 0 : 1 + (weightOf(relation, it) - capacity_us) / all),
    0,
  );
  const least = Math.min(...unions.map((it) => weightOf(relation, it))) / all;
  return { genes, cost: over * (genes.length + 1) + unions.length + least };
}

function assignmentOf(bins: Bins, m: number): number[] {
  const genes = new Array<number>(m).fill(0);
  bins.forEach((bin, b) => {
    for (const c of bin) genes[c] = b;
  });
  return genes;
}

function binsOf(genes: readonly number[]): Bins {
  const bins = new Map<number, number[]>();
  genes.forEach((b, c) => {
    bins.set(b, [...(bins.get(b) ?? []), c]);
  });
  return [...bins.keys()].sort((a, b) => a - b).map((b) => bins.get(b)!);
}

/** The tables have 2^13 entries. */
export const MAX_EXACT_CHAINS = 13;

/**
 * The fewest bins that hold all chains (HydraNF 6.1-6.6), by a dynamic programme over sets of chains.
 * Precondition: at most `MAX_EXACT_CHAINS` chains.
 */
export function fewestBins(packing: ChainPacking): Bins {
  const m = packing.chains.length;
  const unions = new Int32Array(2 ** m);
  const fits = new Uint8Array(2 ** m);
  const bins = new Uint8Array(2 ** m).fill(255);
  const last = new Int32Array(2 ** m);
  bins[0] = 0;
  for (let set = 1; set < 2 ** m; set++) {
    const low = set & -set;
    unions[set] = unions[set ^ low]! | packing.chains[31 - Math.clz32(low)]!;
    fits[set] = fitsBin(packing, unions[set]!) ? 1 : 0;
    for (let part = set; part !== 0; part = (part - 1) & set) {
      if ((part & low) === 0 || fits[part] === 0 || bins[set ^ part]! + 1 >= bins[set]!) continue;
      bins[set] = bins[set ^ part]! + 1;
      last[set] = part;
    }
  }
  const out: number[][] = [];
  for (let set = 2 ** m - 1; set !== 0; set ^= last[set]!)
    out.push(packing.chains.flatMap((_, c) => ((last[set]! >> c) & 1 ? [c] : [])));
  return out;
}
