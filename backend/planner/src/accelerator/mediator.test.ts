import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BadProblem } from '../bad-problem.js';
import { chooseInfrastructure, type InfrastructureQuestion } from './infrastructure-choice.js';
import { type Fleet, fitness, ONLINE_STRATEGIES, placeOnline, withDemand, withoutDemand } from './online.js';
import type { Demand } from './problem.js';

const device = (id: string, free: number, throughput: number, latency_us = 5) => ({
  id,
  latency_us,
  functions: [0],
  capacity: [100],
  capacity_free: [free],
  throughput_bps: 100,
  throughput_free_bps: throughput,
});
const fleetOf = (...devices: Fleet['devices'][number][]): Fleet => ({
  functions: ['firewall', 'dpi'],
  dimensions: [{ name: 'tcam', unit: 'entries' }],
  devices,
});
const demand: Demand = { id: 'nf', function: 0, need: [20], throughput_bps: 30, latency_us: 10 };
const BEST = { strategy: 'best-fit', seed: 1 } as const;

describe('placeOnline', () => {
  it('takes the device with the largest fitness (HYPER V-B)', () => {
    const placed = placeOnline(fleetOf(device('a', 90, 90), device('b', 25, 40), device('c', 80, 30)), demand, BEST);
    expect(placed.device).toBe(1);
    expect(placed.fitness).toBeCloseTo((20 / 25) * (30 / 40), 12);
    expect(placed.candidates.map((it) => it.chosen)).toEqual([false, true, false]);
  });

  it('takes devices with at least what is needed: the printed test asks for at most (HYPER V-B, signs turned round)', () => {
    const printed = (h: Fleet['devices'][number]) =>
      demand.latency_us >= h.latency_us &&
      demand.need[0]! >= h.capacity[0]! &&
      demand.throughput_bps >= h.throughput_bps;
    const roomy = device('roomy', 50, 50);
    expect(printed(roomy)).toBe(false);
    expect(placeOnline(fleetOf(roomy), demand, BEST).device).toBe(0);
    const tiny = { ...device('tiny', 10, 10), capacity: [10], throughput_bps: 10 };
    expect(printed(tiny)).toBe(true);
    expect(placeOnline(fleetOf(tiny), demand, BEST).device).toBeNull();
  });

  it('names what forbids each device, by the fewest kinds of constraints', () => {
    const placed = placeOnline(fleetOf(device('full', 10, 50), device('slow', 10, 20, 20)), demand, BEST);
    expect(placed.device).toBeNull();
    expect(placed.conflicts).toEqual([
      { constraint: 'tcam', needed: 20, available: 10, unit: 'entries', where: 'full' },
      { constraint: 'tcam', needed: 20, available: 10, unit: 'entries', where: 'slow' },
    ]);
    expect(placed.candidates[1]!.constraint!.constraint).toBe('latency');
    expect(placeOnline(fleetOf(), demand, BEST).conflicts).toHaveLength(1);
  });

  it('never overbooks, is never beaten in fitness, and gives back what it took', () => {
    const arbitraryDevice = fc
      .tuple(fc.nat(100), fc.nat(100), fc.integer({ min: 1, max: 20 }), fc.boolean())
      .map(([free, rate, latency, able]) => ({ ...device('d', free, rate, latency), functions: able ? [0, 1] : [1] }));
    const arbitraryDemand = fc
      .tuple(fc.nat(60), fc.nat(60), fc.integer({ min: 1, max: 20 }), fc.nat(1))
      .map(([need, rate, latency_us, f]) => ({
        ...demand,
        need: [need],
        throughput_bps: rate,
        latency_us,
        function: f,
      }));
    let taken = 0;
    fc.assert(
      fc.property(
        fc.array(arbitraryDevice, { maxLength: 6 }),
        arbitraryDemand,
        fc.constantFrom(...ONLINE_STRATEGIES),
        fc.nat(),
        (devices, it, strategy, seed) => {
          const fleet = fleetOf(...devices);
          const able = devices.filter(
            (h) =>
              h.functions.includes(it.function) &&
              h.latency_us <= it.latency_us &&
              it.need[0]! <= h.capacity_free[0]! &&
              it.throughput_bps <= h.throughput_free_bps,
          );
          const placed = placeOnline(fleet, it, { strategy, seed });
          expect(placed.device === null).toBe(able.length === 0);
          if (placed.device === null) return;
          taken++;
          expect(able).toContain(devices[placed.device]);
          const best = Math.max(...able.map((h) => fitness(h, it)));
          expect(placed.best_fitness).toBe(best);
          if (strategy === 'best-fit') expect(placed.fitness).toBe(best);
          const after = withDemand(fleet, placed.device, it);
          expect(after.devices[placed.device]!.capacity_free[0]).toBe(
            devices[placed.device]!.capacity_free[0]! - it.need[0]!,
          );
          expect(withoutDemand(after, placed.device, it)).toEqual(fleet);
        },
      ),
      { numRuns: 2000 },
    );
    expect(taken).toBeGreaterThan(300);
  });

  it('refuses figures that say nothing', () => {
    const fleet = fleetOf(device('a', 100, 100));
    expect(() => placeOnline(fleetOf(device('a', Number.NaN, 1)), demand, BEST)).toThrow(BadProblem);
    expect(() => placeOnline(fleet, { ...demand, need: [1, 2] }, BEST)).toThrow(BadProblem);
    expect(() => withDemand(fleet, 3, demand)).toThrow(BadProblem);
    expect(() => withDemand(fleet, 0, { ...demand, need: [101] })).toThrow(BadProblem);
    expect(() => withoutDemand(fleet, 0, demand)).toThrow('/device would have more tcam than it ever had');
  });
});

const cost = (cycles_per_packet: number, base_latency_us: number) => ({
  cycles_per_packet,
  cycles_per_byte: 0,
  base_latency_us,
  memory_bytes: 1000,
});
const QUESTION: InfrastructureQuestion = {
  functions: ['firewall'],
  dimensions: [{ name: 'tcam', unit: 'entries' }],
  function: 0,
  implementations: [
    { kind: 'software', cost: cost(600, 30), need: [0] },
    { kind: 'container', cost: cost(500, 40), need: [0] },
    { kind: 'board', cost: cost(10, 2), need: [16] },
  ],
  sites: [
    {
      id: 'server',
      kinds: ['software', 'container'],
      functions: [0],
      hz: 3e9,
      cores_free: 1,
      memory_free_bytes: 1e9,
      throughput_free_bps: 10e9,
      capacity_free: [0],
    },
    {
      id: 'card',
      kinds: ['board'],
      functions: [0],
      hz: 2e8,
      cores_free: 1,
      memory_free_bytes: 1e6,
      throughput_free_bps: 20e9,
      capacity_free: [64],
    },
  ],
  throughput_bps: 1e9,
  packet_bytes: 500,
  latency_us: 100,
};

describe('chooseInfrastructure', () => {
  const kind = (change: Partial<InfrastructureQuestion>) => {
    const { chosen } = chooseInfrastructure({ ...QUESTION, ...change });
    return chosen && QUESTION.implementations[chosen.implementation]!.kind;
  };

  it('takes software while it meets every requirement, and hardware when it cannot (HYPER III-B4, IX)', () => {
    expect(kind({})).toBe('software');
    expect(kind({ throughput_bps: 22e9 })).toBeNull();
    expect(kind({ latency_us: 10 })).toBe('board');
    expect(kind({ packet_bytes: 64, throughput_bps: 2.8e9 })).toBe('container');
    expect(kind({ packet_bytes: 64, throughput_bps: 5e9 })).toBe('board');
  });

  it('says what kept software away, and what is missing when nothing does', () => {
    const choice = chooseInfrastructure({ ...QUESTION, latency_us: 10 });
    expect(choice.because).toContain('falls short in latency');
    expect(choice.candidates[0]!.constraint).toMatchObject({ constraint: 'latency', available: 10, where: 'server' });
    expect(choice.candidates[0]!.latency_us).toBeCloseTo(30.2, 9);
    const none = chooseInfrastructure({ ...QUESTION, latency_us: 1 });
    expect(none.chosen).toBeNull();
    expect(none.conflicts.map(({ constraint }) => constraint)).toEqual(['latency', 'latency', 'latency']);
    expect(chooseInfrastructure({ ...QUESTION, sites: [] }).conflicts).toHaveLength(1);
  });

  it('refuses figures that say nothing', () => {
    expect(() => kind({ throughput_bps: 0 })).toThrow(BadProblem);
    expect(() => kind({ function: 1 })).toThrow(BadProblem);
    expect(() => kind({ implementations: [{ kind: 'software', cost: cost(0, 1), need: [0] }] })).toThrow(BadProblem);
  });
});
