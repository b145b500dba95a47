import { CORE_BUDGET, type PlacementProblem, place } from '@orrery/planner';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Stage } from '../scenario.js';
import { E2_PLACEMENT } from './e2-placement.js';
import { type Graph, instanceGraph, linearChain, type Rack, randomGraph } from './igraph.js';
import { saturate } from './saturation.js';

const RACK: Rack = { servers: 24, cores: 16, link_bps: 10e9, bps_per_core: 2e9, switch_bps: 480e9 };
const graphs = fc.record({ length: fc.integer({ min: 1, max: 12 }), seed: fc.nat(1000), chain: fc.boolean() });
const made = ({ length, seed, chain }: { length: number; seed: number; chain: boolean }): Graph =>
  chain ? linearChain(length, seed) : randomGraph(length, seed);

it('conserves traffic at every instance, and fits the cores', () => {
  fc.assert(
    fc.property(graphs, fc.double({ min: 0.3, max: 1, noNaN: true }), (parameters, fill) => {
      const { problem, rate_bps } = instanceGraph(made(parameters), RACK, fill);
      const { items, flows } = problem;
      expect(items.length).toBeLessThanOrEqual(RACK.servers * RACK.cores);
      const sum = (values: number[]) => values.reduce((all, each) => all + each, 0);
      expect(sum(items.map(({ outside_in_bps }) => outside_in_bps))).toBeCloseTo(rate_bps, -2);
      expect(sum(items.map(({ outside_out_bps }) => outside_out_bps))).toBeCloseTo(rate_bps, -2);
      items.forEach(({ outside_in_bps, outside_out_bps, cycles_per_second }, i) => {
        const into = outside_in_bps + sum(flows.filter(({ to }) => to === i).map((flow) => flow.rate_bps));
        const out = outside_out_bps + sum(flows.filter(({ from }) => from === i).map((flow) => flow.rate_bps));
        expect(Math.abs(into - out)).toBeLessThan(1e-6 * rate_bps);
        expect(cycles_per_second).toBeLessThanOrEqual(CORE_BUDGET * 1e9 * (1 + 1e-9));
      });
    }),
    { numRuns: 60, seed: 1 },
  );
});

it('is full where the first component is, by hand', () => {
  const rack: Rack = { servers: 2, cores: 2, link_bps: 2e9, bps_per_core: 10e9, switch_bps: 100e9 };
  const two: PlacementProblem = {
    bins: [0, 1].map((i) => ({
      id: `server-${i}`,
      cores: 2,
      hz: 1e9,
      memory_bytes: 1,
      link_bps: 1e15,
      link_constraint: 'nic-bandwidth' as const,
    })),
    table: { fixed: 0, available: 1e9, where: 'switch' },
    items: [0, 1].map((i) => ({
      id: `${i}`,
      cycles_per_second: 1e8,
      memory_bytes: 0,
      outside_in_bps: i === 0 ? 1e9 : 0,
      outside_out_bps: i === 1 ? 1e9 : 0,
    })),
    flows: [{ from: 0, to: 1, rate_bps: 1e9 }],
  };
  const at = (...places: [number, number][]) =>
    saturate(
      two,
      places.map(([bin, core]) => ({ bin, core })),
      1e9,
      rack,
    );
  // Together: 1 Gbit/s in and out of a link of 2, 2 through the switch; a tenth of a core each.
  expect(at([0, 0], [0, 1])).toEqual({ max_bps: 2e9, binds: 'server links' });
  const wide = { ...rack, link_bps: 1e12 };
  const places = [
    { bin: 0, core: 0 },
    { bin: 1, core: 0 },
  ];
  expect(saturate(two, places, 1e9, wide)).toEqual({ max_bps: CORE_BUDGET * 10e9, binds: 'cores' });
  // Apart: a third time through the switch.
  expect(saturate(two, places, 1e9, { ...wide, switch_bps: 6e9 })).toEqual({ max_bps: 2e9, binds: 'switch' });
  const same = [
    { bin: 0, core: 0 },
    { bin: 0, core: 0 },
  ];
  expect(saturate(two, same, 1e9, wide)).toEqual({ max_bps: (CORE_BUDGET * 10e9) / 2, binds: 'cores' });
});

it.each([
  ['chain', linearChain(5, 1)],
  ['graph', randomGraph(10, 1)],
])('carries more of a %s as E2 places it than at random, and no less than packed', (_, graph) => {
  const { problem, rate_bps } = instanceGraph(graph, RACK, 0.9);
  const of = (strategy: 'e2' | 'packing' | 'random') => {
    const found = place(problem, { strategy, seed: 1, budget: { steps: 200 }, pinned: problem.items.map(() => null) });
    expect(found.feasible).toBe(true);
    const places = found.places.map((each) => each!);
    return saturate(problem, places, rate_bps, RACK).max_bps;
  };
  expect(of('e2')).toBeGreaterThan(1.3 * of('random'));
  expect(of('e2')).toBeGreaterThanOrEqual(0.99 * of('packing'));
});

it('tells the figures and plots of a run, and stops when it must', async () => {
  const told: string[] = [];
  const plots: string[] = [];
  const stop = new AbortController();
  const stage = {
    signal: stop.signal,
    note: () => undefined,
    figure: ({ name, here }: { name: string; here: number | null }) =>
      told.push(`${name} ${here === null ? '–' : 'is'}`),
    plot: ({ series }: { series: readonly { points: unknown[] }[] }) =>
      plots.push(series.map(({ points }) => points.length).join(' ')),
  } as unknown as Stage;
  const { steps } = E2_PLACEMENT.script({ servers: 3, cores: 4, runs: 1 });
  for (const { run } of steps) await run(stage);
  expect(told).toHaveLength(14);
  expect(told.filter((text) => text.endsWith('–'))).toEqual([]);
  expect(plots).toEqual(['6 6 6 6 6', '6 6 6 6 6']);
  stop.abort();
  await expect(steps[0]!.run(stage)).rejects.toThrow('aborted');
});
