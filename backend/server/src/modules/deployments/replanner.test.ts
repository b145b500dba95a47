import { type Plan, PlanRequest } from '@orrery/contract';
import { expect, it, vi } from 'vitest';
import type { Accepted, DesiredChange } from './desired-store.js';
import { Replanner } from './replanner.js';

const IN_FORCE = {
  ...{ id: 'plan-1', feasible: true, chains: [{ chain_id: 'high' }], guarded: [{ chain_id: 'shut' }], steps: [] },
} as unknown as Plan;

/** What is planned for the removal of a chain that was planned on `base_plan`, and how its operation ends then. */
async function replanned(chain: string, more: object = {}, base_plan = 'plan-x') {
  const make = vi.fn(async (_: PlanRequest) => IN_FORCE);
  const request = PlanRequest.parse({ remove: [chain] });
  const operation = { id: 'op-1', set_aside: null, request, steps: [], chains: [], ...more };
  const head = { operation, plan: { id: 'plan-2', base_plan } } as unknown as Accepted;
  const ends: unknown[] = [];
  const commit = async (change: () => DesiredChange | null) => {
    for (const { state, error } of change()?.operations ?? []) if (error) ends.push([state, error.detail]);
  };
  const state = { queue: [head], coming: [head], desired: { in_force: { chains: {} } }, planInForce: IN_FORCE, commit };
  const replanner = new Replanner(
    { ...state, deployments: () => [] } as never,
    { make } as never,
    { current: { infrastructure: { switches: [] } } } as never,
    { lost_servers: [] } as never,
  );
  const isStored = await replanner.planAgain(head);
  return { isStored, ends, asked: make.mock.calls.map(([{ remove }]) => remove) };
}
const plannedFor = async (chain: string) => (await replanned(chain)).asked;

it('a chain that runs, or whose packets are dropped since it was left out, is still to be removed; one that is gone is not', async () => {
  expect(await plannedFor('high')).toEqual([['high']]);
  expect(await plannedFor('shut')).toEqual([['shut']]);
  expect(await plannedFor('gone')).toEqual([]);
});

it('what is to be carried out as planned is not planned again, and fails where something else is in force', async () => {
  const as_planned = true;
  const why = 'What it was planned on is not in force, and another plan might disturb what this one leaves alone';
  expect(await replanned('high', { as_planned })).toEqual({ isStored: true, asked: [], ends: [['FAILED', why]] });
  expect(await replanned('high', { as_planned }, IN_FORCE.id)).toEqual({ isStored: false, asked: [], ends: [] });
});
