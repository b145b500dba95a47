import type { Plan } from '@orrery/contract';
import { expect, it } from 'vitest';
import { Keepers } from './keepers.js';

const planOf = (id: string, { chains = ['high'], left = [] as string[], remove = [] as string[] } = {}) =>
  ({
    id,
    chains: chains.map((chain_id) => ({ chain_id })),
    request: { remove },
    not_kept: left.map((chain_id) => ({ chain_id, slo_id: null, because: 'no room' })),
  }) as unknown as Plan;

const BASE = planOf('base', { chains: ['high', 'low'] });
const SHORT = planOf('short', { left: ['low'] });

/** Of the plan in force, the one that is applied and the one that comes. */
function keepersOf() {
  const listeners: (() => void)[] = [];
  const view = {
    planInForce: BASE,
    plan: BASE,
    comingPlan: BASE,
    onChange: (each: () => void) => listeners.push(each),
  };
  const records = { accountedPlan: 'base', notKept: () => [] as unknown[] };
  const keepers = new Keepers(records as never, view as never);
  const become = (planInForce: Plan, plan: Plan, comingPlan = plan) => {
    Object.assign(view, { planInForce, plan, comingPlan });
    for (const tell of listeners) tell();
    return keepers.isNotKept('low');
  };
  return { records, keepers, become };
}

it('a chain is not kept from when a plan that leaves it out comes, though one operation follows another, until it is accounted for', () => {
  const { records, keepers, become } = keepersOf();
  const [next, last] = [planOf('next'), planOf('last')];
  expect(become(BASE, BASE)).toBe(false);
  expect(become(BASE, BASE, SHORT)).toBe(true);
  expect(become(SHORT, next, last)).toBe(true);
  expect(become(next, last)).toBe(true);
  expect(keepers.leftOut()).toEqual([{ chain_id: 'low', because: 'no room', version: null }]);
  expect(become(last, last)).toBe(true);
  records.accountedPlan = 'last';
  records.notKept = () => [{ chain_id: 'low', because: 'no room', version: 3 }];
  expect(keepers.leftOut()).toEqual([{ chain_id: 'low', because: 'no room', version: 3 }]);
  records.notKept = () => [];
  expect(keepers.isNotKept('low')).toBe(false);
});

it('a chain belongs to what the loop says that it is left to, and to nothing otherwise', () => {
  const { keepers } = keepersOf();
  const giveUp = async () => undefined;
  keepers.leaveTo({ ownerOf: () => null, giveUp });
  const pools = { ownerOf: (id: string) => (id === 'low' ? 'the service pool "pool"' : null), giveUp };
  keepers.leaveTo(pools);
  expect([keepers.ownerOf('low'), keepers.of('low')]).toEqual(['the service pool "pool"', pools]);
  expect([keepers.ownerOf('high'), keepers.of('high')]).toEqual([null, undefined]);
});

it('a chain that runs again, was removed, or was left out by what does not come about is not among them', () => {
  const { become } = keepersOf();
  expect(become(SHORT, planOf('again', { chains: ['high', 'low'] }))).toBe(true);
  expect(become(planOf('again', { chains: ['high', 'low'] }), planOf('next'))).toBe(false);
  expect(become(SHORT, SHORT)).toBe(true);
  expect(become(planOf('gone', { remove: ['low'] }), planOf('next'))).toBe(false);
  expect(become(BASE, SHORT)).toBe(true);
  expect(become(BASE, BASE)).toBe(false);
});
