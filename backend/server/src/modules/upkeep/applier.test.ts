import { type Operation, type Plan, UpkeepPolicyRequest } from '@orrery/contract';
import { decideUpkeep, NO_UPKEEP_MEMORY } from '@orrery/planner';
import { expect, it, vi } from 'vitest';
import { conflict } from '../../platform/problem.js';
import type { Deployer } from '../../ports/deployer.js';
import type { ElementManagers } from '../../ports/element-managers.js';
import type { Lease, LeaseBook } from '../../ports/lease-book.js';
import type { ScenarioView } from '../../ports/scenario-view.js';
import { Applier } from './applier.js';
import { withBounds } from './bounds.js';
import { Hindrance, isWithin } from './hindrance.js';
import { sameGain, sameLoads } from './loads.js';
import { placementOf } from './placement.js';
import type { StoredAdvice, UpkeepRecords } from './records.js';

const PROPOSAL = {
  placement: 'p',
  moves: [{ instance: 'a.fw.0', server: 'server-2' }],
  disruption: { moved: [{ instance: 'a.fw.0', from: 'server-1', to: 'server-2' }] },
  why: 'less traffic',
};

function operation(id: string, state: Operation['state'], waits: readonly string[] | null = null): Operation {
  return { id, state, error: null, set_aside: waits && { waiting_for: waits, since_ms: 1 } } as unknown as Operation;
}

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
  const change = vi.fn<Deployer['change']>().mockResolvedValue(operation('op-7', 'COMPLETED'));
  const { applier, end } = restarted(change);
  expect(await applier.settle()).toBe('applied');
  expect(change.mock.calls[0]!.slice(0, 2)).toEqual([
    { move: PROPOSAL.moves, max_moved: 1 },
    { id: 'op-7', kind: 'reconfigure', by: 'ann', as_planned: true },
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

/** The loop looks as soon as the application is stored. `refusals`: answers of the deployer in turn; null: accepted. */
function sideBySide(refusals: readonly (string | null)[]) {
  let advice: Pick<StoredAdvice, 'applying' | 'refusal'> & { proposal: typeof PROPOSAL } = {
    applying: null,
    refusal: null,
    proposal: PROPOSAL,
  };
  const looks: Promise<unknown>[] = [];
  const accepted = new Map<string, Operation>();
  const end = vi.fn(async (_id: string, refusal: string | null) => {
    advice = { ...advice, applying: null, refusal };
  });
  const records = {
    get advice() {
      return advice;
    },
    begin: async (operation_id: string, by: string) => {
      advice = { ...advice, applying: { operation_id, by } };
      looks.push(applier.settle());
      return PROPOSAL;
    },
    end,
  };
  const answers = [...refusals];
  const change = vi.fn<Deployer['change']>(async (_request, { id }) => {
    const refusal = answers.shift();
    await new Promise(setImmediate);
    if (refusal) throw conflict(refusal);
    accepted.set(id, operation(id, 'PROCESSING'));
    return accepted.get(id)!;
  });
  const deployer = { operation: (id: string) => accepted.get(id), change } as unknown as Deployer;
  const view = { comingPlan: { id: 'plan-1' } as Plan };
  const applier = new Applier(records as unknown as UpkeepRecords, deployer, view as never, {} as never);
  return { applier, looks, change, end, accepted };
}

it('who applies and the loop, which looks at the same time, ask once: both find it accepted, or both refused', async () => {
  const accepting = sideBySide([null, 'Asked twice.']);
  const { id } = await accepting.applier.apply('ann', null);
  expect(await Promise.all(accepting.looks)).toEqual(['under-way']);
  expect([...accepting.accepted.keys()]).toEqual([id]);
  expect(accepting.change).toHaveBeenCalledOnce();
  expect(accepting.end).not.toHaveBeenCalled();

  const refusing = sideBySide(['No room.', null]);
  await expect(refusing.applier.apply('ann', null)).rejects.toThrow('No room.');
  expect(await Promise.all(refusing.looks)).toEqual(['refused']);
  expect(refusing.accepted.size).toBe(0);
  expect(refusing.change).toHaveBeenCalledOnce();
  expect(refusing.end).toHaveBeenCalledOnce();
});

it('an operation that was set aside is taken back, so that the advice does not wait for its nodes', async () => {
  let now = operation('op-7', 'FAILED_TEMP', ['server-2']);
  const takeBack = vi.fn(async (_id: string, why: string) => {
    now = { ...now, state: 'ROLLED_BACK', set_aside: null, error: { detail: why, errors: [] } };
  });
  const end = vi.fn().mockResolvedValue(undefined);
  const advice = { applying: { operation_id: 'op-7', by: 'ann' }, proposal: PROPOSAL };
  const deployer = { operation: () => now, takeBack } as unknown as Deployer;
  const applier = new Applier({ advice, end } as unknown as UpkeepRecords, deployer, {} as never, {} as never);
  expect(await applier.settle()).toBe('refused');
  const why = 'Its operation is ROLLED_BACK: It would wait for server-2.';
  expect(end).toHaveBeenCalledExactlyOnceWith('op-7', why, expect.objectContaining({ type: 'upkeep.refused' }));
});

it('what would break the bound of a service request is no better, and what keeps it again counts as an objective', () => {
  const figures = (cross_traffic_bps: number) => ({
    cross_traffic_bps,
    total_traffic_bps: 1e9,
    cores: 1,
    overloaded: [],
    missed: [],
  });
  const moved = [{ instance: 'pool.ids-1.0', from: 'server-1', to: 'server-2' }];
  const better = { moves: [], after: figures(0), moved, states_moved: 0, states_lost: 0 };
  const found = { base: 'plan-1', drifts: [], before: figures(1e8), better, why: null };
  const rules = { min_gain_percent: 10, min_gain_bps: 0, hold_s: 0 };
  const verdict = (now: string[], then: string[]) => {
    const bounds = { missedWith: (places: readonly unknown[]) => (places.length === 0 ? now : then) };
    return decideUpkeep(rules, withBounds(found, bounds), NO_UPKEEP_MEMORY, 0);
  };
  expect(verdict([], [])).toMatchObject({ verdict: 'advise', gain: { objectives: 0 } });
  expect(verdict([], ['pool/sr-1'])).toMatchObject({ verdict: 'keep', why: expect.stringContaining('pool/sr-1') });
  expect(verdict(['pool/sr-1'], [])).toMatchObject({ verdict: 'advise', gain: { objectives: 1 } });
});

it('nothing moves by itself while a chain is changed, or leaves an accelerator behind that is lent to it', () => {
  const why = (lease: Partial<Lease> | null, accelerated: boolean | null = null, nodes: readonly object[] = []) => {
    const all = lease ? [lease as Lease] : [];
    const of = ({ claim, resources }: Pick<Lease, 'claim'> & { readonly resources: readonly string[] }) =>
      all.find((it) => it.claim === claim && resources.some((each) => it.resource.startsWith(`${each}/`))) ?? null;
    const hindrance = new Hindrance(
      { underWay: () => [] } as unknown as Deployer,
      { servers: [], boards: [], lost_servers: [], onChange: () => undefined },
      { all: () => all, conflictOf: of } as unknown as LeaseBook,
      { running: null } as ScenarioView,
      { state: () => (accelerated === null ? null : { accelerated }) } as unknown as ElementManagers,
    );
    const plan = { graph: { nodes, edges: [] } } as unknown as Plan;
    return hindrance.of(plan, PROPOSAL.disruption.moved, UpkeepPolicyRequest.parse({}), 0);
  };
  expect(why(null)).toBeNull();
  expect(why({ claim: 'change', resource: 'chain/a', purpose: 'scaling', holder: 'sc-1' })).toMatch('scaling sc-1');
  const lent = { claim: 'lend', resource: 'accelerator/server-1/instructions' } as const;
  expect(why(lent, true)).toMatch('a.fw.0 uses an accelerator');
  expect(why(lent, false)).toBeNull();
  expect(why(lent)).toBeNull();
  expect(why({ ...lent, resource: 'accelerator/server-2/instructions' }, true)).toBeNull();
  expect(why(null, true)).toBeNull();
  const split = (node_id: string) => [
    { kind: 'split', id: 'a.e1.split', chain_id: 'c-1', node_id, in_front_of: 0 },
    ...['fw', 'ids'].map((node) => ({ kind: 'nf', id: `a.${node}.0`, chain_id: 'c-1', node_id: node })),
  ];
  expect(why(null, null, split('fw'))).toBe('a.fw.0 is split in steps, and its flows do not move.');
  expect(why(null, null, split('ids'))).toBeNull();
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

it('an advice is told anew when its gain differs by more than a little', () => {
  const gain = { cross_traffic_bps: 1e8, cross_traffic_percent: 20, cores: 0, overloaded_cores: 0, objectives: 0 };
  expect(sameGain(gain, { ...gain, cross_traffic_bps: 1.04e8, cross_traffic_percent: 20.5 })).toBe(true);
  expect(sameGain(gain, { ...gain, cross_traffic_bps: 1.06e8 })).toBe(false);
  expect(sameGain(gain, { ...gain, cross_traffic_percent: 22 })).toBe(false);
  expect(sameGain(gain, { ...gain, objectives: 1 })).toBe(false);
  const more = { ...gain, cross_traffic_bps: -1e8 };
  expect(sameGain(more, { ...gain, cross_traffic_bps: -1.2e8 })).toBe(false);
});

it('a placement is the same whatever requests a pool has, and another where an instance or the version of a chain is', () => {
  const placed = (server: string, version: number, pool: number, id = 'a.fw.0') => {
    const nodes = [{ kind: 'nf', id, chain_id: 'a', server }];
    const chain = (chain_id: string, of: number, ingress: object) => ({
      chain_id,
      version: of,
      definition: { nodes: [{ id: 'in', kind: 'ingress', ...ingress }] },
    });
    const chains = [chain('a', version, {}), chain('pool', pool, { ways: [] })];
    return placementOf({ graph: { nodes, edges: [] }, chains } as unknown as Plan);
  };
  const now = placed('server-1', 1, 1);
  expect(placed('server-1', 1, 2)).toBe(now);
  for (const other of [placed('server-2', 1, 1), placed('server-1', 2, 1), placed('server-1', 1, 1, 'a.fw.1')])
    expect(other).not.toBe(now);
});
