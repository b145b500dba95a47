import { nfInstances, type Plan } from '@orrery/contract';
import { expect, it } from 'vitest';
import type { PlanInput } from '../plan/input.js';
import { makePlan } from '../plan/make-plan.js';
import { chainOf } from '../testing/chains.js';
import { withContainer } from '../testing/containers.js';
import { rack } from '../testing/infrastructure.js';
import { legacyNf } from '../testing/legacy.js';

const MINE = legacyNf('mine', 'bridge');
const CONTAINED = withContainer(MINE);
const IN_CONTAINER: Partial<PlanInput> = {
  descriptors: [CONTAINED],
  implementations: [{ chain_id: 'p-1', node_id: 'a', on: 'container', load: 'partial', policy: 'hold' }],
};

const plan = (legacy_nfs: PlanInput['legacy_nfs'], more: Partial<PlanInput> = {}): Plan =>
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
    descriptors: [MINE],
    infrastructure: rack({ servers: 3, ghz: 1, cores: 4 }),
    legacy_nfs,
    base: null,
    budget: { steps: 20 },
    ...more,
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

const places = (made: Plan) => nfInstances(made.graph).map(({ server, driver }) => [server, driver]);

it('in a container, it runs the same program, where containers run programs and the server may run this one', () => {
  const able = { 'server-1': [], 'server-2': ['mine'], 'server-3': ['mine'] };
  const made = plan(able, { ...IN_CONTAINER, container_servers: ['server-1', 'server-2', 'server-3'] });
  expect(places(made)).toEqual([[expect.stringMatching(/server-[23]/), 'container']]);
  const offering = ['server-1', 'server-2', 'server-3'];
  const narrow = plan(able, {
    ...IN_CONTAINER,
    container_servers: offering,
    program_servers: ['server-1', 'server-3'],
  });
  expect(places(narrow)).toEqual([['server-3', 'container']]);
  expect(narrow.nodes['server-3']!.instances[0]!.program).toEqual(MINE.implementations[0]!.program);
  const none = plan(able, { ...IN_CONTAINER, container_servers: offering, program_servers: [] });
  expect(none.conflicts).toContainEqual(
    expect.objectContaining({ unit: 'container runtime, permission and programs for mine', where: 'server-2' }),
  );
});

it('runs as a process unless a container is asked for, and moves between the two without its state', () => {
  const stateful = { ...CONTAINED, state: { kind: 'flow' as const, key: ['ip.src' as const] } };
  const offers = { descriptors: [stateful], container_servers: ['server-2', 'server-3'] };
  const base = plan(undefined, { ...offers, implementations: [] });
  expect(places(base).map(([, driver]) => driver)).toEqual(['process']);
  const contained = plan(undefined, { ...IN_CONTAINER, ...offers, base });
  expect(places(contained).map(([, driver]) => driver)).toEqual(['container']);
  const [[server]] = places(contained) as [[string, string]];
  const moved = plan(undefined, {
    ...offers,
    base: contained,
    container_servers: offers.container_servers.filter((id) => id !== server),
    implementations: IN_CONTAINER.implementations,
  });
  expect([contained.migrations, moved.migrations]).toEqual([[], []]);
  for (const { problems } of [contained, moved])
    expect(problems).toContainEqual(expect.objectContaining({ code: 'flow-state-lost' }));
});
