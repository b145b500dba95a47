import type { Plan } from '@orrery/contract';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { conflict } from '../../platform/problem.js';
import { Redeployment } from './redeployment.js';

const ID = 'ch-1';

let done: string[];
let refusal: Error | null;
let redeployment: Redeployment;
beforeEach(() => {
  done = [];
  refusal = null;
  const records = {
    notKept: () => [{ chain_id: ID, operation_id: null, given_up_by: null }],
    alone: (work: () => unknown) => work(),
    commit: async () => void done.push('noted'),
  };
  const giveUp = vi.fn(async () => {
    if (refusal) throw refusal;
    done.push('given up');
  });
  redeployment = new Redeployment(
    records as never,
    { of: () => ({ giveUp }) } as never,
    {} as never,
    { comingPlan: { guarded: [{ chain_id: ID }] } as unknown as Plan } as never,
    {} as never,
    { change: async () => void done.push('let through') } as never,
  );
});

describe('a chain of another loop that fails closed', () => {
  it('lets its packets through once it is given up', async () => {
    await redeployment.giveUp(ID, 'ann');
    expect(done).toEqual(['given up', 'noted', 'let through']);
  });

  it('goes on dropping them where giving it up is refused', async () => {
    refusal = conflict('It is being deployed.');
    await expect(redeployment.giveUp(ID, 'ann')).rejects.toThrow('It is being deployed.');
    expect(done).toEqual([]);
  });
});
