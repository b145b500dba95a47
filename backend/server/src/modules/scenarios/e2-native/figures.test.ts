import { ScenarioFigure } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { COMPARISONS, type ComparisonId, comparisons, definitionOf, nameOf } from './comparisons.js';
import { E2_NATIVE } from './e2-native.js';
import { figuresOf } from './figures.js';
import type { Observed } from './observe.js';

const OBSERVED: Observed = { p50_us: 100, cpu_us: 4, pps: 100, flood_pps: 60_000, servers: ['server-1'] };

const figures = (comparison: ComparisonId, forms: Record<string, Partial<Observed>>) => {
  const all = figuresOf(comparison, (form) => ({ ...OBSERVED, ...forms[form] })).map((it) => ScenarioFigure.parse(it));
  return (name: string) => all.find((figure) => figure.name === name)!;
};

describe('figures', () => {
  it('put raw sockets over native NFs, and the packets of native ones over those of raw sockets', () => {
    const of = figures('path', { legacy: { p50_us: 350, flood_pps: 12_000, servers: ['server-2'] } });
    expect(of('NF to NF, p50, raw sockets : native')).toMatchObject({ here: 3.5, bar: { least: 1 } });
    expect(of('NF to NF, packets carried, native : raw sockets').here).toBe(5);
    expect(of('NF to NF, p50, raw sockets : native').note).toContain('on server-1 and server-2');
  });

  it('compare two detectors in one chain with the sum of each alone', () => {
    const of = figures('streams', { ids: { cpu_us: 6 }, sqli: { cpu_us: 4 }, both: { cpu_us: 8 } });
    expect(of('Detectors, CPU of a packet, one reassembly : two').here).toBe(0.8);
  });

  it('have no ratio where one side was not measured', () => {
    const of = figures('streams', { sqli: { cpu_us: null } });
    expect(of('Detectors, CPU of a packet, one reassembly : two').here).toBeNull();
    expect(
      figures('url', { parsed: { pps: null } })('URLs, packets delivered, second parser : metadata').here,
    ).toBeNull();
  });

  it('require that both forms deliver what is offered', () => {
    const of = figures('metadata', { metadata: { pps: 50 } });
    expect(of('Branching, packets delivered, metadata : header')).toMatchObject({
      here: 0.5,
      bar: { least: 0.95 },
    });
  });
});

it('builds valid chains with names of their own', () => {
  const names = comparisons.flatMap((each) =>
    each.forms.map((form) => definitionOf(each, form, 'client-4', '10.0.2.2').name),
  );
  expect(new Set(names).size).toBe(names.length);
  expect(names).toContain(nameOf(comparisons[0]!, comparisons[0]!.forms[0]!));
  expect(comparisons.map(({ id }) => id)).toEqual([...COMPARISONS]);
});

it('refuses a host that sends to itself, at the field', () => {
  expect(() => E2_NATIVE.script({ from: 'web-2' })).toThrow('/parameters/to: must not be the sending host');
});
