import type { Deployment, Plan } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { stalenessOf } from './staleness.js';

const chainIn = (chain_id: string, more: object = {}) => ({ chain_id, version: 1, definition: {}, ...more });
const planOf = (id: string, base_plan: string | null, chains: readonly object[]) =>
  ({ id, base_plan, infrastructure_revision: 4, chains }) as unknown as Plan;
const deployed = (chain_id: string, plan_id: string, state: Deployment['state'] = 'running') =>
  ({ chain_id, version: 1, plan_id, state }) as Deployment;

const before = planOf('pn-1', null, [chainIn('web'), chainIn('dns')]);
const plan = planOf('pn-2', 'pn-1', [chainIn('web', { version: 0 }), chainIn('dns')]);
const asScheduled = planOf('pn-3', 'pn-1', [chainIn('web', { schedule: 'planned' }), chainIn('dns')]);

const stale = (deployments: readonly Deployment[] | undefined, more: Partial<Parameters<typeof stalenessOf>[0]> = {}) =>
  stalenessOf({
    plan,
    chainId: 'web',
    revisions: { planned: 7, now: 7 },
    infrastructure: 4,
    deployments,
    inForce: before,
    base: before,
    ...more,
  });

describe('a plan', () => {
  it('is up to date while what it builds on runs, or is being deployed, and once it runs itself', () => {
    expect(stale([deployed('web', 'pn-1'), deployed('dns', 'pn-1')])).toBeNull();
    expect(stale([deployed('web', 'pn-2', 'deploying'), deployed('dns', 'pn-1')])).toBeNull();
    expect(stale([deployed('dns', 'pn-0'), deployed('web', 'pn-1', 'deploying')])).toBeNull();
    expect(stale(undefined)).toBeNull();
  });

  it('is out of date once its own chain is deployed otherwise, and says how it runs', () => {
    expect(stale([deployed('web', 'pn-3', 'deploying'), deployed('dns', 'pn-1')], { inForce: asScheduled })).toBe(
      'The chain was deployed otherwise since: it will run in sequence, served as scheduled.',
    );
    expect(stale([deployed('web', 'pn-3'), deployed('dns', 'pn-3')], { inForce: asScheduled })).toBe(
      'The chain was deployed otherwise since: it runs in sequence, served as scheduled.',
    );
    const parallel = planOf('pn-3', 'pn-1', [chainIn('web', { execution: 'parallel' })]);
    expect(stale([deployed('web', 'pn-3'), deployed('dns', 'pn-3')], { inForce: parallel })).toMatch(/in parallel/);
  });

  it('is out of date once its chain runs that did not, or is taken down', () => {
    const none = planOf('pn-1', null, []);
    expect(stale([], { base: none, inForce: undefined })).toBeNull();
    expect(stale([deployed('web', 'pn-3')], { base: none, inForce: asScheduled })).toMatch(/served as scheduled/);
    expect(stale([deployed('web', 'pn-4', 'undeploying')])).toBe('The chain is being taken down.');
    expect(stale([deployed('dns', 'pn-4')])).toBe('The chain was taken down since.');
  });

  it('is out of date once other chains, or where what runs is placed, changed', () => {
    const again = planOf('pn-3', 'pn-1', [chainIn('web'), chainIn('dns')]);
    expect(stale([deployed('web', 'pn-3')], { inForce: again })).toMatch(/^Other chains/);
    expect(stale([deployed('web', 'pn-3'), deployed('dns', 'pn-3')], { inForce: again })).toBe(
      'What runs was planned anew since.',
    );
  });

  it('is out of date once the draft or the infrastructure was changed', () => {
    expect(stale(undefined, { revisions: { planned: 7, now: 8 } })).toMatch(/^The draft/);
    expect(stale(undefined, { infrastructure: 5 })).toMatch(/^The infrastructure/);
  });
});
