import { describe, expect, it } from 'vitest';
import { ratedEdges, ratesContradict, withoutEdgeRates } from './edge-rates.js';
import { setClass, setEdgeRate } from './edit.js';
import { TEMPLATES } from './templates.js';
import { chain, descriptor, MONITOR } from './testing.js';

const descriptors = [MONITOR];
const linear = chain('ingress>monitor', 'monitor>egress');
const expecting = (rate_bps: number, definition = linear) =>
  setClass(definition, { ...definition.traffic_class, rate_bps });

describe('estimated rates of edges', () => {
  it('contradict the expected rate where they are more than what arrives', () => {
    const rated = setEdgeRate(expecting(10e6), 'e2', 10e6);
    expect(ratesContradict(rated, descriptors)).toBe(false);
    expect(ratesContradict(expecting(5e6, rated), descriptors)).toBe(true);
  });

  it('contradict it where they are less and nothing takes or drops the rest', () => {
    const rated = setEdgeRate(expecting(20e6), 'e1', 10e6);
    expect(ratesContradict(rated, descriptors)).toBe(true);
    expect(ratesContradict(setEdgeRate(expecting(20e6), 'e2', 10e6), descriptors)).toBe(true);
    const dropping = [descriptor('monitor', { actions: { ...MONITOR.actions, may_drop: true } })];
    expect(ratesContradict(setEdgeRate(expecting(20e6), 'e2', 10e6), dropping)).toBe(false);
    const branched = chain('ingress>a', 'a>b', 'a>egress', 'b>egress');
    expect(ratesContradict(setEdgeRate(expecting(20e6, branched), 'e2', 10e6), descriptors)).toBe(false);
  });

  it('are gone once all are derived', () => {
    const rated = setEdgeRate(setEdgeRate(expecting(20e6), 'e1', 10e6), 'e2', 10e6);
    expect(ratedEdges(rated)).toHaveLength(2);
    expect(withoutEdgeRates(rated)).toEqual(expecting(20e6));
    expect(withoutEdgeRates(linear)).toBe(linear);
  });
});

it.each(TEMPLATES)('$title follows the expected rate of its class', ({ definition }) => {
  for (const factor of [1, 2, 10]) {
    const scaled = expecting(factor * definition.traffic_class.rate_bps, definition);
    expect(ratesContradict(scaled, descriptors)).toBe(false);
    for (const { from } of ratedEdges(definition))
      expect(definition.edges.some((edge) => edge.from === from && edge.rate_bps === undefined)).toBe(true);
  }
});
