import type { DeploymentOptions, Operation } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { lastSwitch } from './run-switches.js';

const change = (
  id: string,
  options: DeploymentOptions | null,
  more: Partial<Operation> & { from?: number | null } = {},
) => {
  const { from = 1, ...rest } = more;
  return {
    id,
    state: 'COMPLETED',
    started_ms: 0,
    updated_ms: 0,
    by: 'ann',
    chains: [{ chain_id: 'web', from_version: from, to_version: options ? 1 : null }],
    request: { chains: options ? [{ chain_id: 'web', ...options }] : [], remove: [] },
    ...rest,
  } as unknown as Operation;
};
const first = change('op-1', {}, { from: null });
const parallel = change('op-2', { execution: 'parallel' });

describe('the last change of how a chain runs', () => {
  it('is the operation that asked for another way than the one before', () => {
    expect(lastSwitch([parallel, first], 'web')).toMatchObject({
      operation: { id: 'op-2' },
      before: { execution: 'sequential', schedule: 'round-robin' },
      after: { execution: 'parallel', schedule: 'round-robin' },
      isLatest: true,
      version: 1,
    });
    const planned = change('op-3', { schedule: 'planned' });
    expect(lastSwitch([planned, parallel, first], 'web')).toMatchObject({
      before: { execution: 'parallel', schedule: 'round-robin' },
      after: { execution: 'parallel', schedule: 'planned' },
    });
  });

  it('is no operation that asked for what was so, or failed, or is about another chain', () => {
    expect(lastSwitch([change('op-2', { execution: 'sequential' }), first], 'web')).toBeNull();
    expect(lastSwitch([{ ...parallel, state: 'FAILED' }, first], 'web')).toBeNull();
    expect(lastSwitch([parallel, first], 'dns')).toBeNull();
  });

  it('can be undone until the chain is changed again', () => {
    expect(lastSwitch([change('op-3', {}), parallel, first], 'web')).toMatchObject({ isLatest: false });
  });

  it('ends where the chain was taken down', () => {
    expect(lastSwitch([change('op-3', null), parallel, first], 'web')).toBeNull();
    expect(lastSwitch([change('op-4', {}, { from: null }), change('op-3', null), parallel, first], 'web')).toBeNull();
  });

  it('is not guessed where the beginning is no longer listed', () => {
    expect(lastSwitch([parallel], 'web')).toBeNull();
    const both = change('op-3', { execution: 'sequential', schedule: 'round-robin' });
    expect(lastSwitch([parallel, both], 'web')).toMatchObject({ operation: { id: 'op-2' } });
  });
});
