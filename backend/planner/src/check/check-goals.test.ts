import type { Slo } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { makePlan } from '../plan/make-plan.js';
import { chainOf } from '../testing/chains.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { validateChain } from './validate.js';

const definition = (slos: Slo[]) =>
  chainOf(
    { fw: 'firewall' },
    [
      ['in', 'fw'],
      ['fw', 'out'],
    ],
    { slos },
  );
const catalogue = (refuses: string[] | undefined) =>
  CATALOGUE.map((each) => ({ ...each, actions: { ...each.actions, may_drop: true, refuses } }));
const problemsOf = (slos: Slo[], refuses: string[] | undefined = []) =>
  validateChain(definition(slos), { descriptors: catalogue(refuses), hosts: [{ id: 'client-1' }] });

const loss: Slo = { id: 'loss', kind: 'loss', max_share: 0.01 };
const availability: Slo = { id: 'up', kind: 'availability', min_share: 0.5 };

describe('goals of objectives', () => {
  it('are sound where an objective may be missed for a second or more', () => {
    expect(problemsOf([loss, availability])).toEqual([]);
    expect(problemsOf([{ ...loss, goal: 0.999, period_s: 3600 }])).toEqual([]);
    expect(problemsOf([{ ...loss, goal: 0.9999, period_s: 10_000 }])).toEqual([]);
  });

  it('leave less than a second only by mistake', () => {
    expect(problemsOf([availability, { ...loss, goal: 0.9999, period_s: 3600 }])).toMatchObject([
      { code: 'bad-objective', severity: 'error', pointer: '/slos/1/goal' },
    ]);
  });

  it('of objectives between classes leave a second, too', () => {
    const chain = definition([]);
    const between = { id: 'first', kind: 'priority', above: 'x', below: 'y', goal: 0.99999, period_s: 3600 } as const;
    const problems = validateChain(
      { ...chain, class_slos: [between] },
      { descriptors: catalogue([]), hosts: [{ id: 'client-1' }] },
    );
    expect(problems).toContainEqual(
      expect.objectContaining({ code: 'bad-objective', severity: 'error', pointer: '/class_slos/0/goal' }),
    );
  });

  it('cannot always be judged where an NF does not tell what it refuses from what it loses', () => {
    const latency: Slo = { id: 'l', kind: 'latency', percentile: 99, max_us: 1000 };
    const silent = validateChain(definition([latency, loss, availability]), {
      descriptors: CATALOGUE.map((each) => {
        const { refuses: _, ...actions } = each.actions;
        return { ...each, actions: { ...actions, may_drop: true } };
      }),
      hosts: [{ id: 'client-1' }],
    });
    expect(silent.map(({ pointer, severity }) => [pointer, severity])).toEqual([
      ['/slos/1', 'warning'],
      ['/slos/2', 'warning'],
    ]);
  });
});

it('plans nothing for loss and availability', () => {
  const plan = makePlan({
    id: 'p',
    created_ms: 0,
    base: null,
    chains: [
      {
        chain_id: 'c',
        version: 1,
        definition: definition([loss, { id: 't', kind: 'throughput', min_bps: 1 }, availability]),
      },
    ],
    descriptors: CATALOGUE,
    infrastructure: rack({ servers: 1, cores: 4, ghz: 2, nic_bps: 1e10, link_bps: 1e10 }),
    budget: { steps: 50 },
  });
  expect(plan.slos.map(({ slo_id }) => slo_id)).toEqual(['t']);
});
