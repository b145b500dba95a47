import { type Calibration, type ChainDefinition, Overhead } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { makePlan } from '../plan/make-plan.js';
import { chainOf, FIGURE_3_1 } from '../testing/chains.js';
import { CATALOGUE, descriptor } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';

const planOf = (definition: ChainDefinition, descriptors = CATALOGUE, calibration?: Calibration) => {
  const plan = makePlan({
    id: 'plan',
    created_ms: 0,
    chains: [{ chain_id: 'p-1', version: 1, definition }],
    descriptors,
    infrastructure: rack(),
    base: null,
    calibration,
    budget: { steps: 10 },
  });
  expect(plan.feasible).toBe(true);
  return plan;
};
const formsOf = (definition: ChainDefinition, descriptors = CATALOGUE) => planOf(definition, descriptors).parallel;

const idle = { reads: [], writes: [], adds: [], removes: [], may_drop: false };
const free = ['a', 'b', 'c'].map((id) => descriptor(id, { actions: idle, state: { kind: 'none', key: [] } }));
const chain = (filters: (readonly [string, 'is' | 'is-not', string | number])[] = []) =>
  chainOf({ a: 'a', b: 'b', c: 'c' }, [
    ['in', 'a'],
    ['a', 'b'],
    ['b', 'c', [...filters]],
    ...(filters.length > 0 ? [['b', 'out', [[filters[0]![0], 'is-not', filters[0]![2]]]] as const] : []),
    ['c', 'out'],
  ] as Parameters<typeof chainOf>[1]);

describe('the parallel form of a chain in a plan', () => {
  it('runs what is independent side by side, and says how many copies that takes', () => {
    const [form] = formsOf(chain(), free);
    expect(form).toMatchObject({
      nodes: ['a', 'b', 'c'],
      conflicts: [],
      mirrors: 1,
      merges: 1,
      copies: 2,
      reverted: false,
      text: '(a | b | c)',
      bins: [['a'], ['b'], ['c']],
    });
    expect(form!.latency_us).toBeLessThan(form!.sequential_us / 2);
    expect(form!.graph.vertices.map(({ kind }) => kind).sort()).toEqual(['merge', 'mirror', 'nf', 'nf', 'nf']);
    expect(form!.provisioning!.counts.map(({ node }) => node).sort()).toEqual(['a', 'b', 'c']);
    expect(form!.provisioning!.merges).toHaveLength(1);
  });

  it('has as much under way between servers as a hop takes on these machines', () => {
    const wide = { ...chain(), traffic_class: { ...chain().traffic_class, rate_bps: 1e10 } };
    const under_way = (mean_us: number) => {
      const hop = { mean_us, mean_error_us: 0, sd_us: 1, sd_error_us: 0, windows: 10, packets: 1000, measured_ms: 0 };
      const { quality } = planOf(wide, free, { entries: {}, hop: Overhead.parse(hop) });
      return quality.find(({ part }) => part === 'provisioning')!.value;
    };
    expect(under_way(100)).toBeGreaterThan(0);
    expect(under_way(300)).toBeCloseTo(3 * under_way(100), 3);
  });

  it('keeps an NF behind the one that decides whether packets are led to it', () => {
    const forms = formsOf(FIGURE_3_1);
    for (const form of forms.filter(({ nodes }) => nodes[0] === 'ids')) {
      expect(form.conflicts.map(({ sentence }) => sentence)).toContain(
        `ids sets ids.verdict, by which ${form.nodes[1]} gets its packets`,
      );
      expect(form.text.startsWith('ids')).toBe(true);
    }
    expect(forms.length).toBeGreaterThan(0);
  });

  it('does so for a field that the NF rewrites, and not for one that nobody changes', () => {
    const rewriting = free.map((it) =>
      it.id === 'a' ? { ...it, actions: { ...idle, writes: ['port.dst' as const] } } : it,
    );
    expect(formsOf(chain([['port.dst', 'is', 80]]), free).find(({ nodes }) => nodes.length === 3)!.text).toBe(
      '(a | b | c)',
    );
    const form = formsOf(chain([['port.dst', 'is', 80]]), rewriting).find(({ nodes }) => nodes.length === 3)!;
    expect(form.conflicts).toEqual([
      {
        earlier: 'a',
        later: 'c',
        parallel: false,
        sentence: 'a sets port.dst, by which c gets its packets',
      },
    ]);
    expect(form.text).not.toBe('(a | b | c)');
  });
});
