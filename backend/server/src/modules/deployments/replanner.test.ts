import { type Plan, PlanRequest } from '@orrery/contract';
import { expect, it, vi } from 'vitest';
import type { Accepted } from './desired-store.js';
import { Replanner } from './replanner.js';

const IN_FORCE = {
  ...{ id: 'plan-1', feasible: true, chains: [{ chain_id: 'high' }], guarded: [{ chain_id: 'shut' }] },
} as unknown as Plan;

/** What is planned for the removal of a chain that was planned on what did not come about. */
async function plannedFor(chain: string) {
  const make = vi.fn(async (_: PlanRequest) => IN_FORCE);
  const replanner = new Replanner(
    { planInForce: IN_FORCE, desired: { in_force: { chains: {} } }, commit: async () => undefined } as never,
    { make } as never,
    { current: { infrastructure: { switches: [] } } } as never,
    { lost_servers: [] } as never,
  );
  const operation = { id: 'op-1', set_aside: null, request: PlanRequest.parse({ remove: [chain] }) };
  await replanner.planAgain({ operation, plan: { base_plan: 'plan-x' } } as unknown as Accepted);
  return make.mock.calls.map(([{ remove }]) => remove);
}

it('a chain that runs, or whose packets are dropped since it was left out, is still to be removed; one that is gone is not', async () => {
  expect(await plannedFor('high')).toEqual([['high']]);
  expect(await plannedFor('shut')).toEqual([['shut']]);
  expect(await plannedFor('gone')).toEqual([]);
});
