import type { Operation, Plan } from '@orrery/contract';
import { expect, it, vi } from 'vitest';
import { conflict } from '../../platform/problem.js';
import type { Deployer } from '../../ports/deployer.js';
import { Applier } from './applier.js';
import { isWithin } from './hindrance.js';
import { sameLoads } from './loads.js';
import type { UpkeepRecords } from './records.js';

const PROPOSAL = {
  base: 'plan-1',
  moves: [{ instance: 'a.fw.0', server: 'server-2' }],
  disruption: { moved: [{ instance: 'a.fw.0', from: 'server-1', to: 'server-2' }] },
  why: 'less traffic',
};

/** After a kill between what was stored and what was asked for. */
function restarted(change: Deployer['change']) {
  const end = vi.fn().mockResolvedValue(undefined);
  const advice = { applying: { operation_id: 'op-7', by: 'ann' }, proposal: PROPOSAL };
  const deployer = { operation: () => undefined, change } as unknown as Deployer;
  const view = { comingPlan: { id: 'plan-1' } as Plan };
  const applier = new Applier({ advice, end } as unknown as UpkeepRecords, deployer, view as never, {} as never);
  return { applier, end };
}

it('what a killed server stored and did not ask for is asked for by the same id, and its end is accounted once', async () => {
  const change = vi.fn<Deployer['change']>().mockResolvedValue({ id: 'op-7', state: 'COMPLETED' } as Operation);
  const { applier, end } = restarted(change);
  expect(await applier.settle()).toBe('applied');
  expect(change.mock.calls[0]!.slice(0, 2)).toEqual([
    { move: PROPOSAL.moves },
    { id: 'op-7', kind: 'reconfigure', by: 'ann' },
  ]);
  expect(end).toHaveBeenCalledExactlyOnceWith('op-7', null, expect.objectContaining({ type: 'upkeep.applied' }));
});

it('a plan that is refused ends the application, and one of which nothing is known does not', async () => {
  const refusing = restarted(() => Promise.reject(conflict('No room.')));
  expect(await refusing.applier.settle()).toBe('refused');
  expect(refusing.end).toHaveBeenCalledExactlyOnceWith('op-7', 'No room.', expect.anything());
  const away = restarted(() => Promise.reject(new Error('the store is away')));
  await expect(away.applier.settle()).rejects.toThrow('the store is away');
  expect(away.end).not.toHaveBeenCalled();
});

it('quiet hours go over midnight, and a mean that differs by a little is the same', () => {
  const hours = (from: number, to: number) =>
    Array.from({ length: 24 }, (_, h) => h).filter((h) => isWithin({ from, to }, h));
  expect(hours(8, 10)).toEqual([8, 9]);
  expect(hours(22, 2)).toEqual([0, 1, 22, 23]);
  const load = (bps: number, core_share: number | null = 0.5) => [{ instance: 'a', bps, core_share }];
  expect(sameLoads(load(1e8), load(1.04e8))).toBe(true);
  expect(sameLoads(load(1e8), load(1.1e8))).toBe(false);
  expect(sameLoads(load(1e8), load(1e8, 0.6))).toBe(false);
  expect(sameLoads(load(1e8), [])).toBe(false);
});
