import type { Chain, Deployment, ParallelForm, Plan } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { chainRows } from './chain-rows.js';

const chain = (id: string, deployment_state: Chain['deployment_state'] = 'none') =>
  ({ id, draft: { title: `Draft ${id}`, nodes: [] }, deployment_state }) as unknown as Chain;
const deployment = (chain_id: string) => ({ chain_id, plan_id: 'pn-1', state: 'running' }) as Deployment;
const form = (chain_id: string, mirrors: number, reverted = false) => ({ chain_id, mirrors, reverted }) as ParallelForm;
const plan = {
  chains: [
    { chain_id: 'a', version: 1, definition: { title: 'A', nodes: [] }, execution: 'parallel' },
    { chain_id: 'b', version: 1, definition: { title: 'B', nodes: [] } },
  ],
  parallel: [form('a', 1), form('b', 1, true)],
} as unknown as Plan;

describe('the chains of the page', () => {
  const rows = chainRows(
    [chain('draft'), chain('a', 'running'), chain('b', 'running')],
    ['a', 'b'].map(deployment),
    () => plan,
  );

  it('are the deployed ones first, as they run', () => {
    expect(rows.map(({ id, execution, canGain }) => [id, execution, canGain])).toEqual([
      ['a', 'parallel', true],
      ['b', 'sequential', false],
      ['draft', null, null],
    ]);
    expect(rows[0]!.definition.title).toBe('A');
  });

  it('say nothing of how they run before the plan is known', () => {
    const [row] = chainRows([chain('a', 'running')], [deployment('a')], () => undefined);
    expect(row).toMatchObject({ execution: null, canGain: null, forms: [] });
  });
});
