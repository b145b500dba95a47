import { OperationState } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { takeBackText, whyNot } from './by-hand.js';

const ACTIONS = ['retry', 'rollback', 'cancel'] as const;

describe('an operation changed by hand', () => {
  it('offers in each state what the server accepts, and a reason for the rest', () => {
    const offered = OperationState.options.map((state) => [
      state,
      ACTIONS.filter((action) => whyNot(action, { state }, true) === null),
    ]);
    expect(Object.fromEntries(offered)).toEqual({
      PROCESSING: ['cancel'],
      COMPLETED: [],
      PARTIALLY_COMPLETED: [],
      FAILED_TEMP: ['retry', 'rollback'],
      FAILED: [],
      ROLLING_BACK: [],
      ROLLED_BACK: [],
    });
    for (const state of OperationState.options)
      for (const action of ACTIONS) expect(whyNot(action, { state }, false)).toBe('Needs the role operator');
  });

  it('says what runs afterwards, and whether traffic is steered back', () => {
    const chains = [
      { chain_id: 'a', from_version: null, to_version: 1 },
      { chain_id: 'b', from_version: 2, to_version: 3 },
    ];
    const titleOf = (id: string) => id.toUpperCase();
    const steered = { kind: 'steer-fabric', state: 'running' } as never;
    expect(takeBackText({ set_aside: null, chains, steps: [] }, titleOf)).toBe(
      'A is taken down; B runs version 2 again. Traffic does not take the new path yet.',
    );
    expect(takeBackText({ set_aside: null, chains, steps: [steered] }, titleOf)).toMatch(/steered back/);
  });
});
