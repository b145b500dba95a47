import type { Operation, Plan, PlannedChain } from '@orrery/contract';
import { expect, it } from 'vitest';
import type { Deployer } from '../../ports/deployer.js';
import { Scaler } from './scaler.js';
import type { Scalings } from './scalings.js';

const nf = { chain_id: 'c-1', node_id: 'ids' };
const wish = { nf, instances: 2, flows: 'keep' as const, drain_s: 9, cause: 'asked for', policy_id: null, by: 'ann' };
const chain = { chain_id: 'c-1', version: 1, splits: [{ node_id: 'ids', instances: 1 }] } as unknown as PlannedChain;
const running = {
  graph: {
    nodes: [{ kind: 'nf', id: 'web.ids.0', ...nf, nf: 'ids', ordinal: 0, server: 's-1', core: 0 }],
    edges: [{ from: 'web.fw.0', to: 'web.ids.0', direction: 'forward', key: ['ip.src'] }],
  },
  chains: [chain],
  splits: [],
} as unknown as Plan;
const lossAt = (node: string) => ({ code: 'flow-state-lost', chain_id: 'c-1', node, message: `${node} loses state` });

/** A scaler whose changes get a plan that tells these problems. */
function scalerOf(problems: object[], accept: () => void = () => undefined) {
  const stored: string[] = [];
  const deployer = {
    change: async (_request: unknown, { id }: { id: string }, refusal: (plan: Plan) => string | null) => {
      const why = refusal({ diff: { moved: [] }, problems } as unknown as Plan);
      if (why !== null) throw new Error(why);
      accept();
      return { id } as Operation;
    },
  } as unknown as Deployer;
  const scalings = {
    begin: async () => void stored.push('begun'),
    tell: async () => void stored.push('told'),
  } as unknown as Scalings;
  const view = { comingPlan: running, deployment: () => ({ version: 1, state: 'running' }) };
  const catalogue = { find: () => ({ affinity: ['ip.src'], scaling: { max_instances: 4 } }) };
  const parts = [scalings, deployer, { get: async () => null }, view, catalogue] as unknown as ConstructorParameters<
    typeof Scaler
  >;
  return { scaler: new Scaler(...parts), stored };
}

it('makes no change by a plan that tells lost state where flows are to stay, also of another NF of the chain', async () => {
  for (const node of ['ids', 'mon'])
    await expect(scalerOf([lossAt(node)]).scaler.begin(wish)).rejects.toThrow(`${node} loses state`);
  await expect(scalerOf([{ ...lossAt('mon'), chain_id: 'c-2' }]).scaler.begin(wish)).resolves.toBeDefined();
  // Flows that move have it with them; those of another NF do not.
  const moving = { ...wish, flows: 'migrate' as const };
  await expect(scalerOf([lossAt('ids')]).scaler.begin(moving)).resolves.toBeDefined();
  await expect(scalerOf([lossAt('mon')]).scaler.begin(moving)).rejects.toThrow('mon loses state');
});

it('tells a change once its first operation was accepted, and not again', async () => {
  const refused = scalerOf([lossAt('ids')]);
  await refused.scaler.begin(wish).catch(() => undefined);
  expect(refused.stored).toEqual(['begun']);
  const made = scalerOf([]);
  await made.scaler.begin(wish);
  expect(made.stored).toEqual(['begun', 'told']);
});
