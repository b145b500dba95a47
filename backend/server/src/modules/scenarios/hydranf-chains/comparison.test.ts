import { ScenarioFigure } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { figuresOf } from './comparison.js';
import type { Execution } from './execution.js';
import { HYDRANF_CHAINS } from './hydranf-chains.js';
import { definitionOf, sfcs } from './table-6-1.js';

const SEQUENTIAL: Execution = {
  p50_us: 300,
  p99_us: 400,
  predicted_p50_us: 290,
  cpu_us: 300,
  planned_cpu_share: 0.2,
  copies: 0,
  given_up: 0,
  pps: 200,
  isParallel: false,
};
const PARALLEL: Execution = { ...SEQUENTIAL, p50_us: 120, cpu_us: 309, copies: 2, isParallel: true };

const figures = (parallel: Execution) => {
  const all = figuresOf('chain', 'a note', SEQUENTIAL, parallel, 0.4).map((figure) => ScenarioFigure.parse(figure));
  return (name: string) => all.find((figure) => figure.name === `chain: ${name}`)!;
};

describe('figures of a chain', () => {
  it('put parallel over sequential beside what was published', () => {
    const of = figures(PARALLEL);
    expect(of('p50, parallel : sequential')).toMatchObject({ here: 0.4, published: 0.683, modelled: false });
    expect(of('CPU of a packet, parallel : sequential')).toMatchObject({ here: 1.03, published: 1.07 });
    expect(of('p50, parallel : sequential, predicted').modelled).toBe(true);
  });

  it('have no ratio where nothing was measured', () => {
    expect(figures({ ...PARALLEL, p50_us: null })('p50, parallel : sequential').here).toBeNull();
  });

  it('fail their bars where nothing was measured, and have none of copies where the plan makes none', () => {
    const silent = { given_up: null, pps: null, cpu_us: null };
    const of = figures({ ...PARALLEL, ...silent });
    for (const name of ['packets given up by merges', 'packets delivered, parallel : sequential'])
      expect([name, of(name).here, of(name).bar !== null]).toEqual([name, null, true]);
    expect(figures({ ...PARALLEL, copies: 0, isParallel: false })('copies of a packet').bar).toBeNull();
  });

  it('require what does not depend on the load of the machine: copies, and that packets arrive', () => {
    const of = figures({ ...PARALLEL, given_up: 0.5, pps: 100 });
    expect(of('copies of a packet').bar).toEqual({ least: 1, most: null });
    expect(of('packets given up by merges')).toMatchObject({ here: 50, bar: { most: 5 } });
    expect(of('packets delivered, parallel : sequential')).toMatchObject({ here: 0.5, bar: { least: 0.95 } });
    expect(of('p50, parallel : sequential').bar).toBeNull();
  });
});

it('runs every chain of Table 6.1 as a valid chain of its own', () => {
  const names = sfcs('10.0.2.2').map((sfc) => definitionOf(sfc, 'client-4', '10.0.2.2').name);
  expect(new Set(names).size).toBe(names.length);
});

it('refuses a host that sends to itself, at the field', () => {
  expect(() => HYDRANF_CHAINS.script({ from: 'web-2' })).toThrow('/parameters/to: must not be the sending host');
});
