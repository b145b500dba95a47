import { ChainDefinition, type Plan } from '@orrery/contract';
import { expect, it } from 'vitest';
import { whyNotDeployed } from './why-not-deployed.js';

const definition = (max_us: number) =>
  ChainDefinition.parse({
    name: 'web',
    title: 'Web',
    traffic_class: { from: ['client-1'], match: [], rate_bps: 1e9 },
    nodes: [],
    edges: [],
    slos: [{ id: 'fast', kind: 'latency', percentile: 99, max_us }],
  });
const planOf = (max_us: number, changes: Partial<Plan> = {}) => ({
  feasible: true,
  steps: [],
  base_plan: 'plan-0',
  chains: [{ chain_id: 'web', version: 0, definition: definition(max_us) }],
  ...changes,
});
const rights = { mayOperate: true, deleted: false };

it('a plan that changes only an objective can be deployed; one that changes nothing cannot', () => {
  const base = planOf(100);
  expect(whyNotDeployed({ ...rights, base, plan: planOf(200) })).toBeNull();
  expect(whyNotDeployed({ ...rights, base, plan: planOf(100) })).toBe('This plan is already deployed.');
});

it('every refusal has its reason', () => {
  const base = planOf(100);
  expect(whyNotDeployed({ ...rights, base, plan: undefined })).toMatch(/being made/);
  expect(whyNotDeployed({ ...rights, base: undefined, plan: planOf(1) })).toMatch(/compared/);
  expect(whyNotDeployed({ ...rights, base, plan: planOf(1, { feasible: false }) })).toMatch(/not feasible/);
  expect(whyNotDeployed({ base, plan: planOf(1), mayOperate: false, deleted: false })).toMatch(/operator/);
  expect(whyNotDeployed({ base, plan: planOf(1), mayOperate: true, deleted: true })).toMatch(/deleted/);
});
