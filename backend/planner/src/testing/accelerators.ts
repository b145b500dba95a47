import fc from 'fast-check';
import type { AcceleratorProblem, Demand, OpenDevice } from '../accelerator/problem.js';
import { type Random, seededRandom } from '../random.js';

/** Parts of a device's TCAM and throughput that a demand takes, by the name of the mix. */
export const ITEM_MIXES = {
  uniform: (random: Random) => [between(random, 0.05, 0.5), between(random, 0.05, 0.5)],
  'quarter-to-half': (random: Random) => [between(random, 0.25, 0.5), between(random, 0.25, 0.5)],
  'anti-correlated': (random: Random) => {
    const tcam = between(random, 0.05, 0.5);
    return [tcam, 0.55 - tcam];
  },
  'throughput-light': (random: Random) => [between(random, 0.05, 0.5), between(random, 0.01, 0.1)],
} satisfies Record<string, (random: Random) => number[]>;

export type ItemMix = keyof typeof ITEM_MIXES;

const TCAM_ENTRIES = 4096;
const LINE_RATE_BPS = 20e9;

/** Demands of a mix on as many equal boards as they may need (HYPER VII-D: all devices share their parameters). */
export function mixedDemands(mix: ItemMix, n: number, seed: number): AcceleratorProblem {
  const random = seededRandom(seed);
  const demands = Array.from({ length: n }, (_, i): Demand => {
    const [tcam, throughput] = ITEM_MIXES[mix](random) as [number, number];
    return {
      id: `nf-${i}`,
      function: 0,
      need: [tcam * TCAM_ENTRIES],
      throughput_bps: throughput * LINE_RATE_BPS,
      latency_us: 50,
    };
  });
  return {
    functions: ['firewall'],
    dimensions: [{ name: 'tcam', unit: 'entries' }],
    types: [
      {
        id: 'board',
        cost: 1,
        count: n,
        latency_us: 5,
        throughput_bps: LINE_RATE_BPS,
        capacity: [TCAM_ENTRIES],
        functions: [0],
      },
    ],
    demands,
  };
}

function between(random: Random, low: number, high: number): number {
  return low + (high - low) * random();
}

/** Small problems in which every constraint may bind; figures are whole, so that sums are exact. */
export function arbitraryAccelerators(maxDemands: number, roomy = false): fc.Arbitrary<AcceleratorProblem> {
  return fc.integer({ min: 1, max: 3 }).chain((dimensions) => {
    const vector = (min: number, max: number) =>
      fc.array(fc.integer({ min, max }), { minLength: dimensions, maxLength: dimensions });
    const type = fc.record({
      cost: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom(1.5, 2.25)),
      count: roomy ? fc.constant(maxDemands) : fc.integer({ min: 0, max: 4 }),
      latency_us: fc.integer({ min: 1, max: 10 }),
      throughput_bps: fc.integer({ min: 8, max: 20 }),
      capacity: vector(8, 20),
      functions: fc.constantFrom([0, 1], [0, 1], [0], [1]),
    });
    const demand = fc.record({
      function: fc.constantFrom(0, 0, 1),
      need: vector(0, 12),
      throughput_bps: fc.integer({ min: 0, max: 12 }),
      latency_us: fc.constantFrom(5, 10, 10, 20),
    });
    return fc
      .record({
        types: fc.array(type, { minLength: 1, maxLength: 3 }),
        demands: fc.array(demand, { minLength: 1, maxLength: maxDemands }),
      })
      .map(({ types, demands }) => ({
        functions: ['nat', 'firewall'],
        dimensions: ['tcam', 'lut', 'cpu'].slice(0, dimensions).map((name) => ({ name, unit: 'units' })),
        types: types.map((it, t) => ({ ...it, id: `type-${t}` })),
        demands: demands.map((it, i) => ({ ...it, id: `nf-${i}` })),
      }));
  });
}

/** What a packing breaks, from the definitions alone. */
export function brokenBy({ dimensions, types, demands }: AcceleratorProblem, devices: readonly OpenDevice[]): string[] {
  const faults: string[] = [];
  const placed = devices.flatMap((it) => it.demands).sort((a, b) => a - b);
  if (placed.join() !== [...demands.keys()].join()) faults.push(`places ${placed.join()}`);
  types.forEach(({ id, count }, t) => {
    if (devices.filter((it) => it.type === t).length > count) faults.push(`too many ${id}`);
  });
  devices.forEach((device, b) => {
    const type = types[device.type]!;
    const here = device.demands.map((i) => demands[i]!);
    const total = (of: (it: Demand) => number) => here.reduce((sum, it) => sum + of(it), 0);
    if (here.some((it) => !type.functions.includes(it.function))) faults.push(`function on ${b}`);
    if (here.some((it) => it.latency_us < type.latency_us)) faults.push(`latency on ${b}`);
    if (total((it) => it.throughput_bps) > type.throughput_bps * (1 + 1e-6)) faults.push(`throughput on ${b}`);
    dimensions.forEach(({ name }, k) => {
      if (total((it) => it.need[k]!) > type.capacity[k]! * (1 + 1e-6)) faults.push(`${name} on ${b}`);
    });
  });
  return faults;
}

/** The least cost of all packings, each demand tried on every open device and on a new one of each type. */
export function leastCost(problem: AcceleratorProblem): number | null {
  const { types, demands } = problem;
  let best: number | null = null;
  const open: { type: number; demands: number[] }[] = [];
  const next = (i: number, cost: number) => {
    if (best !== null && cost >= best) return;
    if (i === demands.length) {
      best = cost;
      return;
    }
    for (const device of [...open]) {
      device.demands.push(i);
      if (sound(device)) next(i + 1, cost);
      device.demands.pop();
    }
    types.forEach((type, t) => {
      if (open.filter((it) => it.type === t).length >= type.count) return;
      const device = { type: t, demands: [i] };
      open.push(device);
      if (sound(device)) next(i + 1, cost + type.cost);
      open.pop();
    });
  };
  next(0, 0);
  return best;

  function sound(device: OpenDevice): boolean {
    const faults = brokenBy({ ...problem, demands: device.demands.map((i) => demands[i]!) }, [
      { type: device.type, demands: [...device.demands.keys()] },
    ]);
    return faults.every((fault) => fault.startsWith('too many'));
  }
}
