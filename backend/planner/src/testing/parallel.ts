import { type NfDescriptor, PacketField } from '@orrery/contract';
import fc from 'fast-check';
import type { SpgProblem } from '../parallel/construction/problem.js';
import type { Series, Step } from '../parallel/construction/series.js';
import type { Random } from '../random.js';
import { descriptor } from './descriptors.js';

export const FIELDS = PacketField.options;

/** A descriptor with an action profile, for what only depends on that. */
export function profiled(
  id: string,
  actions: Partial<NfDescriptor['actions']>,
  kind: NfDescriptor['state']['kind'] = 'none',
): NfDescriptor {
  return descriptor(id, {
    actions: { reads: [], writes: [], adds: [], removes: [], may_drop: false, ...actions },
    state: { kind, key: [] },
  });
}

/** NFs with few actions each, so that many pairs are independent. */
export function arbitraryNf(id: string): fc.Arbitrary<NfDescriptor> {
  const some = (maxLength: number) => fc.uniqueArray(fc.constantFrom(...FIELDS), { maxLength });
  return fc
    .record({
      reads: some(3),
      writes: some(1),
      adds: fc.oneof({ weight: 4, arbitrary: fc.constant<PacketField[]>([]) }, some(1)),
      removes: fc.oneof({ weight: 4, arbitrary: fc.constant<PacketField[]>([]) }, some(1)),
      may_drop: fc.oneof(fc.constant(false), fc.constant(false), fc.boolean()),
      kind: fc.constantFrom('none', 'none', 'static', 'flow', 'aggregate'),
    })
    .map(({ kind, writes, ...rest }) => {
      const resizes = rest.adds.length + rest.removes.length > 0;
      const actions = { ...rest, writes: writes.filter((field) => field !== 'length' || resizes) };
      return profiled(id, actions, kind as NfDescriptor['state']['kind']);
    });
}

export function arbitraryChain(maxNfs: number): fc.Arbitrary<NfDescriptor[]> {
  return fc
    .integer({ min: 1, max: maxNfs })
    .chain((n) => fc.tuple(...Array.from({ length: n }, (_, i) => arbitraryNf(`nf-${i}`))));
}

/** Chains of which only latencies and dependencies are known, of small whole latencies so that ties are many. */
export function arbitrarySpgProblem(minNfs: number, maxNfs: number): fc.Arbitrary<SpgProblem> {
  return fc
    .record({
      latencies: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: minNfs, maxLength: maxNfs }),
      dense: fc.constantFrom(15, 30, 50),
      bits: fc.array(fc.tuple(fc.nat(99), fc.nat(5)), { minLength: 40, maxLength: 40 }),
      cost: fc.constantFrom(0, 0.25, 1),
    })
    .map(({ latencies, dense, bits, cost }) => spgProblem(latencies, bits, dense, cost));
}

function spgProblem(
  latencies: readonly number[],
  bits: readonly (readonly [number, number])[],
  dense: number,
  cost: number,
): SpgProblem {
  const pairs: SpgProblem['pairs'][number][] = [];
  for (let later = 1; later < latencies.length; later++) {
    for (let earlier = 0; earlier < later; earlier++) {
      const [share, order] = bits[(later * 7 + earlier * 3) % bits.length]!;
      pairs.push({ earlier, later, parallel: share >= dense, order: order === 0 ? [ORDER] : [] });
    }
  }
  return { nfs: latencies.map((latency_us, i) => ({ id: `n${i}`, latency_us })), pairs, mirror_us: cost, merge_us: 0 };
}

const ORDER = { earlier: 0, later: 1, kind: 'read-write', field: 'ip.src', sentence: '' } as const;

/** A problem from latencies and dependent pairs, all else independent. */
export function dependent(latencies: readonly number[], edges: readonly (readonly [number, number])[]): SpgProblem {
  return {
    nfs: latencies.map((latency_us, i) => ({ id: `${i}`, latency_us })),
    pairs: edges.map(([earlier, later]) => ({ earlier, later, parallel: false, order: [] })),
    mirror_us: 0,
    merge_us: 0,
  };
}

/** Which NF comes before which in a graph; neither: they run side by side. */
export function precedence(series: Series): Map<string, 'before' | 'beside'> {
  const out = new Map<string, 'before' | 'beside'>();
  const members = (step: Step): number[] => {
    if (step.kind === 'nf') return [step.nf];
    const branches = step.branches.map((it) => walk(it));
    branches.forEach((a, i) => {
      for (const b of branches.slice(i + 1))
        for (const x of a) for (const y of b) out.set(`${x},${y}`, 'beside').set(`${y},${x}`, 'beside');
    });
    return branches.flat();
  };
  const walk = (steps: Series): number[] => {
    const seen: number[] = [];
    for (const step of steps) {
      const here = members(step);
      for (const x of seen) for (const y of here) out.set(`${x},${y}`, 'before');
      seen.push(...here);
    }
    return seen;
  };
  walk(series);
  return out;
}

/** Whether a graph holds each NF once and breaks neither a dependency nor an order. */
export function isValid(problem: SpgProblem, series: Series): boolean {
  const order = precedence(series);
  const n = problem.nfs.length;
  if (order.size !== (n * (n - 1)) / 2 + [...order.values()].filter((it) => it === 'beside').length / 2) return false;
  return problem.pairs.every(({ earlier, later, parallel, order: kept }) => {
    const forth = order.get(`${earlier},${later}`);
    if (!parallel) return forth === 'before';
    return kept.length === 0 || forth !== undefined;
  });
}

/** Every series-parallel graph of some NFs, valid or not. 2,791 for five. */
export function everyGraph(nfs: readonly number[]): Series[] {
  return [...seriesOf(nfs), ...parallelOf(nfs)];
}

function seriesOf(nfs: readonly number[]): Series[] {
  if (nfs.length === 1) return [[{ kind: 'nf', nf: nfs[0]! }]];
  return splits(nfs, false).flatMap(([head, tail]) => {
    const heads = head.length === 1 ? seriesOf(head) : parallelOf(head);
    return heads.flatMap((a) => everyGraph(tail).map((b) => [...a, ...b]));
  });
}

function parallelOf(nfs: readonly number[]): Series[] {
  if (nfs.length < 2) return [];
  return partitions(nfs)
    .filter((blocks) => blocks.length > 1)
    .flatMap((blocks) =>
      blocks
        .map(seriesOf)
        .reduce<Series[][]>((all, some) => all.flatMap((it) => some.map((one) => [...it, one])), [[]]),
    )
    .map((branches) => [{ kind: 'parallel', branches }]);
}

function splits(nfs: readonly number[], whole: boolean): [number[], number[]][] {
  return Array.from({ length: 2 ** nfs.length }, (_, code): [number[], number[]] => [
    nfs.filter((_, i) => (code >> i) & 1),
    nfs.filter((_, i) => !((code >> i) & 1)),
  ]).filter(([a, b]) => a.length > 0 && (whole || b.length > 0));
}

/** Every way to divide a set. */
export function partitions<T>(values: readonly T[]): T[][][] {
  const [first, ...rest] = values;
  if (first === undefined) return [[]];
  return partitions(rest).flatMap((blocks) => [
    [[first], ...blocks],
    ...blocks.map((block, i) => [...blocks.slice(0, i), [first, ...block], ...blocks.slice(i + 1)]),
  ]);
}

/** A random valid graph, far from the best: cuts and divides wherever that is allowed. */
export function randomGraph(problem: SpgProblem, random: Random, nfs = problem.nfs.map((_, i) => i)): Series {
  if (nfs.length === 1) return [{ kind: 'nf', nf: nfs[0]! }];
  const codes = Array.from({ length: 30 }, () => nfs.map(() => random() < 0.5));
  for (const code of codes) {
    const a = nfs.filter((_, i) => code[i]);
    const b = nfs.filter((_, i) => !code[i]);
    if (a.length === 0 || b.length === 0) continue;
    const between = problem.pairs.filter(
      ({ earlier, later }) => (a.includes(earlier) && b.includes(later)) || (b.includes(earlier) && a.includes(later)),
    );
    const parts = () => [randomGraph(problem, random, a), randomGraph(problem, random, b)] as const;
    if (between.every(({ parallel }) => parallel) && random() < 0.7) return [{ kind: 'parallel', branches: parts() }];
    if (between.every(({ earlier, parallel, order }) => (parallel && order.length === 0) || a.includes(earlier)))
      return parts().flat();
  }
  return nfs.map((nf) => ({ kind: 'nf', nf }));
}

/** A packet as fields that are there or not, each with 16 bits. */
export interface TestPacket {
  readonly value: Int32Array;
  readonly there: Int32Array;
}

const LENGTH = FIELDS.indexOf('length');

export function randomPacket(random: Random): TestPacket {
  const there = Int32Array.from(FIELDS, (_, f) => (f === LENGTH || random() < 0.7 ? 1 : 0));
  return { value: there.map((it) => it * Math.floor(random() * 4)), there };
}

/** An NF that does what its action profile allows, in a way that depends on all it reads and on its state. */
export class ExecutableNf {
  state = 17;

  constructor(
    private readonly profile: NfDescriptor,
    private readonly salt: number,
  ) {}

  /** `null`: dropped. */
  run(packet: TestPacket): TestPacket | null {
    const { actions, state } = this.profile;
    const dynamic = state.kind === 'flow' || state.kind === 'aggregate';
    let seen = mix(this.salt, dynamic ? this.state : 3);
    for (const field of actions.reads) {
      const f = FIELDS.indexOf(field);
      seen = mix(seen, packet.there[f] ? packet.value[f]! : -1);
    }
    if (dynamic) this.state = mix(seen, 5);
    if (actions.may_drop && mix(seen, 7) % 3 === 0) return null;
    const value = Int32Array.from(packet.value);
    const there = Int32Array.from(packet.there);
    const put = (f: number) => {
      value[f] = mix(seen, f + 100) % 65536;
    };
    for (const field of actions.writes) {
      const f = FIELDS.indexOf(field);
      if (there[f] && mix(seen, f) % 4 !== 0) put(f);
    }
    for (const [fields, now] of [
      [actions.removes, 0],
      [actions.adds, 1],
    ] as const) {
      for (const field of fields) {
        const f = FIELDS.indexOf(field);
        if (f === LENGTH) continue;
        if (there[f] !== now) value[LENGTH]! += now ? 4 : -4;
        there[f] = now;
        if (now) put(f);
        else value[f] = 0;
      }
    }
    return { value, there };
  }
}

function mix(a: number, b: number): number {
  let h = Math.imul(a ^ Math.imul(b + 0x9e37, 0x85ebca6b), 0xc2b2ae35);
  h ^= h >>> 15;
  h = Math.imul(h, 0x2c1b3c6d);
  return (h ^ (h >>> 13)) >>> 1;
}

/** Runs a packet through a graph: copies at each mirror, `P_O xor P_A xor P_B` at each merge, dropped if any drops. */
export function runGraph(nfs: readonly ExecutableNf[], series: Series, packet: TestPacket): TestPacket | null {
  let current: TestPacket | null = packet;
  for (const step of series) {
    if (current === null) return null;
    if (step.kind === 'nf') current = nfs[step.nf]!.run(current);
    else {
      const original: TestPacket = current;
      const results = step.branches.map((it) => runGraph(nfs, it, original));
      current = results.some((it) => it === null) ? null : merged(original, results as TestPacket[]);
    }
  }
  return current;
}

function merged(original: TestPacket, results: readonly TestPacket[]): TestPacket {
  const xor = (of: keyof TestPacket) =>
    original[of].map((before, f) => results.reduce((sum, it) => sum ^ it[of][f]! ^ before, before));
  const [value, there] = [xor('value'), xor('there')];
  return { value: value.map((it, f) => (there[f] ? it : 0)), there };
}
