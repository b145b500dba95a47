import { ContainerImage, nfInstances, type Plan } from '@orrery/contract';
import { expect, it } from 'vitest';
import type { PlanInput } from '../plan/input.js';
import { makePlan } from '../plan/make-plan.js';
import { chainOf } from '../testing/chains.js';
import { withContainer } from '../testing/containers.js';
import { descriptor } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';

const image = ContainerImage.parse({ reference: 'a/b:1', pull: 'never', forwarding: 'route', preserves: [] });
const plain = withContainer(descriptor('mine', { state: { kind: 'none', key: [] }, affinity: [] }), { only: true });
const MINE = { ...plain, implementations: [{ ...plain.implementations[0]!, image }] };
const CHAIN = chainOf({ a: 'mine' }, [
  ['in', 'a'],
  ['a', 'out'],
]);

const plan = (more: Partial<PlanInput>, definition = CHAIN): Plan =>
  makePlan({
    id: 'plan',
    created_ms: 0,
    chains: [{ chain_id: 'p-1', version: 1, definition }],
    descriptors: [MINE],
    infrastructure: rack({ servers: 3, ghz: 1, cores: 4 }),
    base: null,
    budget: { steps: 20 },
    ...more,
  });

it('an NF of an image runs in a container of a server that can run it, and the server is told the image', () => {
  const made = plan({
    container_servers: ['server-1', 'server-2'],
    program_servers: [],
    legacy_nfs: { 'server-1': [], 'server-2': ['mine'], 'server-3': ['mine'] },
  });
  expect(nfInstances(made.graph).map(({ server, driver }) => [server, driver])).toEqual([['server-2', 'container']]);
  expect(made.nodes['server-2']!.instances[0]).toMatchObject({ image });
  expect(made.nodes['server-2']!.instances[0]).not.toHaveProperty('program');
});

it('on no server, it is refused with what every server lacks', () => {
  const nowhere = plan({ container_servers: ['server-1'], legacy_nfs: { 'server-1': [] } });
  expect(nowhere.feasible).toBe(false);
  expect(nowhere.conflicts).toContainEqual(
    expect.objectContaining({ unit: 'permission or image for mine', where: 'server-1' }),
  );
  const { problems } = plan({ container_servers: [] });
  expect(problems.map(({ message }) => message)).toContain('"mine" runs in containers alone, which no server offers');
});

it('what the image does not preserve is refused where a chain needs it', () => {
  const slos = [{ id: 'fast', kind: 'latency' as const, percentile: 99, max_us: 1000 }];
  const { problems } = plan({ container_servers: ['server-1'] }, { ...CHAIN, slos });
  expect(problems.map(({ message }) => message).join()).toContain('"a" does not preserve the ingress time');
});
