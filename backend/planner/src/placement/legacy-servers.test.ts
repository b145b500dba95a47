import { nfInstances, type Plan } from '@orrery/contract';
import { expect, it } from 'vitest';
import type { PlanInput } from '../plan/input.js';
import { makePlan } from '../plan/make-plan.js';
import { chainOf } from '../testing/chains.js';
import { rack } from '../testing/infrastructure.js';
import { legacyNf } from '../testing/legacy.js';

const plan = (legacy_nfs: PlanInput['legacy_nfs']): Plan =>
  makePlan({
    id: 'plan',
    created_ms: 0,
    chains: [
      {
        chain_id: 'p-1',
        version: 1,
        definition: chainOf({ a: 'mine' }, [
          ['in', 'a'],
          ['a', 'out'],
        ]),
      },
    ],
    descriptors: [legacyNf('mine', 'bridge')],
    infrastructure: rack({ servers: 3, ghz: 1, cores: 4 }),
    legacy_nfs,
    base: null,
    budget: { steps: 20 },
  });

it('a legacy NF runs on a server that runs its program, and is told what to run', () => {
  const made = plan({ 'server-1': [], 'server-2': ['mine'], 'server-3': ['other'] });
  expect(nfInstances(made.graph).map(({ server, driver }) => [server, driver])).toEqual([['server-2', 'process']]);
  expect(made.nodes['server-2']!.instances[0]!.program).toMatchObject({ forwarding: 'bridge' });
});

it('on no server, it is refused with what every server lacks; of servers that have not said, any will do', () => {
  const nowhere = plan({ 'server-1': [], 'server-2': [], 'server-3': [] });
  expect(nowhere.feasible).toBe(false);
  expect(nowhere.conflicts).toContainEqual({
    constraint: 'implementation',
    needed: 1,
    available: 0,
    unit: 'permission and programs for mine',
    where: 'server-1',
  });
  expect(nfInstances(plan({ 'server-1': [], 'server-2': [] }).graph).map(({ server }) => server)).toEqual(['server-3']);
  expect(plan(undefined).feasible).toBe(true);
});
