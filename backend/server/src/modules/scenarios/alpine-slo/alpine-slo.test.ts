import { ChainDefinition } from '@orrery/contract';
import { planSchedule } from '@orrery/planner';
import { describe, expect, it } from 'vitest';
import { allocationError, judgementOf } from './allocation.js';
import { ALPINE_SLO } from './alpine-slo.js';
import { asDrawn, attainable, COSTS, classifiedFirst, PIPELINES, type Pipeline, TREES } from './pipelines.js';

const SHAPE = { name: 'p', from: 'client-4', address: '10.0.2.2', rate_pps: 2000, objective: 'cpu-time' } as const;

describe('the error of an allocation', () => {
  it('is that of the example in Alpine 5.5.2', () => {
    expect(allocationError([0.5, 0.5], [0.7, 0.3])).toBeCloseTo(0.4, 9);
  });

  it('does not depend on units, and is 0 where all get what they are to get', () => {
    expect(allocationError([30, 10, 20], [3, 1, 2])).toBeCloseTo(0, 9);
    expect(allocationError([10, 10], [3, 1])).toBeCloseTo(0.5, 9);
  });
});

it('judges the error where the engine had its cores, and says why where it had not', () => {
  expect(judgementOf(2, null).bar).toEqual({ least: null, most: 0.25 });
  expect(judgementOf(2, 1.9)).toEqual({ bar: { least: null, most: 0.25 }, note: '' });
  expect(judgementOf(2, 0.6)).toEqual({ bar: null, note: expect.stringContaining('30 % of its cores') });
});

describe.each([...PIPELINES, ...COSTS, ...TREES])('$title', (pipeline) => {
  const drawn = asDrawn(pipeline, SHAPE);
  const classified = classifiedFirst(pipeline, SHAPE);

  it('has a path for each class, each with an edge of its own that its objective names', () => {
    for (const definition of [drawn, classified]) {
      expect(ChainDefinition.parse(definition)).toEqual(definition);
      const named = new Set(definition.class_slos.flatMap((slo) => (slo.kind === 'priority' ? [] : [slo.a, slo.b])));
      expect(named.size).toBe(pipeline.paths.length);
      for (const edge of named) expect(definition.edges.map(({ id }) => id)).toContain(edge);
    }
  });

  it('gives each class a rate of its own size at every branch', () => {
    const leaving = drawn.edges.filter(({ to }) => to === 'out').reduce((sum, { rate_bps }) => sum + rate_bps!, 0);
    expect(leaving).toBeCloseTo(drawn.traffic_class.rate_bps, 6);
  });

  it('has modules that only one class passes where it is classified first', () => {
    const nfs = classified.nodes.filter(({ kind }) => kind === 'nf');
    expect(nfs).toHaveLength(1 + pipeline.paths.flat().length);
    expect(classified.edges.filter(({ from }) => from === 'classifier')).toHaveLength(pipeline.paths.length);
  });
});

it('refuses a host that sends to itself, at the field', () => {
  expect(() => ALPINE_SLO.script({ from: 'web-2' })).toThrow('/parameters/to: must not be the sending host');
});

/** As the planner sees it: modules, and between them outputs that cost next to nothing. */
function planned({ paths, ratios }: Pipeline, kind: 'cpu-time' | 'throughput', mode: 'free' | 'constrained') {
  const ways = paths.map((path) => [
    `> ${path[0]}`,
    ...path.flatMap((name, i) => [name, `${name} > ${path[i + 1] ?? ''}`]),
  ]);
  const names = [...new Set(ways.flat())];
  const indices = ways.map((way) => way.map((name) => names.indexOf(name)));
  const edges = new Map(
    indices.flatMap((path) => path.slice(1).map((to, i) => [`${path[i]} ${to}`, { from: path[i]!, to }] as const)),
  );
  return planSchedule(
    {
      modules: names.map((id) => ({ id, cycles_per_packet: id.includes('>') ? 2 : 230_000 })),
      edges: [...edges.values()],
      classes: indices.map((path, c) => ({ id: `class-${c + 1}`, path, rate_pps: 1e4 })),
      slos: ratios.slice(1).map((ratio, i) => ({ kind, a: i + 1, b: 0, ratio: ratio / ratios[0]! })),
      workers: { count: 1, cycles_per_second: 2.3e9, sharing: 'replicate' },
      costs: { queue_cycles_per_packet: 7, classifier_cycles_per_packet: null },
    },
    { strategy: 'alpine', mode, budget: { steps: 20_000 } },
  );
}

describe.each(['cpu-time', 'throughput'] as const)('ratios by %s', (objective) => {
  it.each([...PIPELINES, ...TREES])(
    'of $title can be met in both modes, and leave every class something',
    (pipeline) => {
      for (const mode of ['free', 'constrained'] as const) {
        const schedule = planned(attainable(pipeline, { objective, mode }), objective, mode);
        if (!schedule.feasible) throw new Error(`not in the mode ${mode}`);
        const { slos, classes, throughput_pps } = schedule.prediction;
        expect(slos.every(({ met }) => met)).toBe(true);
        const fair = throughput_pps / classes.length;
        for (const each of classes) expect(each.throughput_pps).toBeGreaterThan(0.2 * fair);
      }
    },
  );
});
