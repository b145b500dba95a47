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
    expect(takeBackText({ set_aside: null, chains, drivers: [], steps: [] }, titleOf)).toBe(
      'A is taken down; B runs version 2 again. Traffic does not take the new path yet.',
    );
    expect(takeBackText({ set_aside: null, chains, drivers: [], steps: [steered] }, titleOf)).toMatch(/steered back/);
  });

  it('says which driver a switch gets back, and that it carries nothing for it once it has begun', () => {
    const drivers = [{ switch: 'leaf-1', from: 'ovs' as const, to: 'p4' as const }];
    const taken = (state: string) =>
      takeBackText(
        { set_aside: null, chains: [], drivers, steps: [{ kind: 'change-driver', state } as never] },
        (id) => id,
      );
    expect(taken('running')).toMatch(/^leaf-1 runs Open vSwitch again\. It carries nothing once more/);
    expect(taken('pending')).toBe('leaf-1 runs Open vSwitch again. Traffic does not take the new path yet.');
  });
});
