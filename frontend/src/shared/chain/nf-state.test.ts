import { InstanceState } from '@orrery/contract';
import { expect, it } from 'vitest';
import { shownState } from './nf-state.js';

it('is never healthy in a chain that is degraded, and otherwise the state of the NF', () => {
  for (const state of InstanceState.options) {
    expect(shownState(state, 'degraded')).not.toBe('running');
    for (const chain of ['running', 'deploying', undefined] as const) expect(shownState(state, chain)).toBe(state);
  }
});
