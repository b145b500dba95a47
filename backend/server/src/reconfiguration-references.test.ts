import type { Problem } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BoardBench, chainOf, type DeployedNf, SLOT } from './testing/board-bench.js';
import { until } from './testing/wait.js';

let bench: BoardBench;
let alpha: DeployedNf;
let beta: DeployedNf;

beforeEach(async () => {
  bench = await BoardBench.start();
  ({ alpha, beta } = bench);
});
afterEach(() => bench.stop());

const threshold = { metric: 'pps', up: 400, down: 100 };
const policyOf = (more: object) => ({ title: 'p', nf: alpha, threshold, ...more });
const gone = { chain_id: 'ch-gone', node_id: 'nf' };

/** Errors, as `pointer code`. */
async function faults(answer: Promise<{ status: number; body: unknown }>): Promise<string[]> {
  const { status, body } = await answer;
  expect(status).toBe(422);
  return ((body as Problem).errors ?? []).map(({ pointer, code }) => `${pointer} ${code}`);
}

async function takeDown(chain_id: string): Promise<void> {
  const { id } = await bench.api.call('deleteDeployment', { params: { chain_id } });
  await bench.server.finished(id);
}

const policies = async () => (await bench.api.call('listReconfigurationPolicies')).items;

describe('a request with a dangling reference', () => {
  const askers: [string, (body: object) => Promise<{ status: number; body: unknown }>][] = [
    ['a reconfiguration', (body) => bench.post('createReconfiguration', { nf: alpha, to: 'board', ...body })],
    ['a policy', (body) => bench.post('createReconfigurationPolicy', policyOf(body))],
  ];

  it.each(askers)('as %s gets an error that names the field', async (_, ask) => {
    expect(await faults(ask({ nf: gone }))).toContain('/nf/chain_id not-deployed');
    expect(await faults(ask({ nf: { ...alpha, node_id: 'x' } }))).toEqual(['/nf/node_id unknown-nf']);
    expect(await faults(ask({ displaces: [beta, gone] }))).toEqual(['/displaces/1/chain_id not-deployed']);
    expect(await faults(ask({ displaces: [{ ...beta, node_id: 'x' }] }))).toEqual(['/displaces/0/node_id unknown-nf']);
    expect(await faults(ask({ slot: { ...SLOT, board: 'board-9' } }))).toEqual(['/slot/board unknown-board']);
    expect(await faults(ask({ slot: { ...SLOT, slot: 1 } }))).toEqual(['/slot/slot unknown-slot']);
    await takeDown(beta.chain_id);
    const monitor = { chain_id: await bench.deploy(chainOf('monitor', 'client-2')), node_id: 'nf' };
    expect(await faults(ask({ nf: monitor }))).toEqual(['/nf/node_id no-board-implementation']);
  });

  it('for a container is referred to plans', async () => {
    const answer = await bench.post('createReconfiguration', { nf: alpha, to: 'container' });
    expect(answer).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: '/to', detail: 'a container needs no reconfiguration: deploy a plan' }] },
    });
  });
});

describe('a policy whose chain', () => {
  it('was undeployed is kept and may be changed', async () => {
    const { id } = await bench.api.call('createReconfigurationPolicy', { body: policyOf({ displaces: [beta] }) });
    await takeDown(alpha.chain_id);
    expect(await policies()).toMatchObject([{ id, state: 'not-deployed' }]);
    const put = (more: object) =>
      bench.api.request('putReconfigurationPolicy', { params: { id }, body: JSON.stringify(policyOf(more)) });
    expect(await put({ enabled: false })).toMatchObject({ status: 200, body: { state: 'disabled' } });
    expect(await faults(put({ displaces: [gone] }))).toEqual(['/displaces/0/chain_id not-deployed']);
  });

  it('was deleted is removed with it, and no policy displaces it', async () => {
    await bench.api.call('createReconfigurationPolicy', { body: policyOf({ displaces: [beta] }) });
    await bench.api.call('createReconfigurationPolicy', { body: policyOf({ title: 'of beta', nf: beta }) });
    await takeDown(beta.chain_id);
    await bench.api.call('deleteChain', { params: { id: beta.chain_id } });
    await until('the policy is gone', async () => (await policies()).length === 1);
    await until('nothing is displaced', async () => (await policies())[0]!.displaces.length === 0);
    const told = await bench.eventsOf('policy.');
    expect(told.map(({ message }) => message).slice(2)).toEqual([
      'Reconfiguration policy "p" changed: a chain that it displaced was deleted',
      'Reconfiguration policy "of beta" removed: its chain was deleted',
    ]);
  });

  it('was deleted unnoticed by the server is removed at its next start', async () => {
    await bench.api.call('createReconfigurationPolicy', { body: policyOf({}) });
    const stored = await bench.server.running.store.redis.hgetall('orrery:default:reconfiguration-policies');
    await takeDown(alpha.chain_id);
    await bench.api.call('deleteChain', { params: { id: alpha.chain_id } });
    await until('the policy is gone', async () => (await policies()).length === 0);
    await bench.server.running.store.redis.hset('orrery:default:reconfiguration-policies', stored);
    await bench.restart();
    await until('the policy is gone again', async () => (await policies()).length === 0);
  });
});
