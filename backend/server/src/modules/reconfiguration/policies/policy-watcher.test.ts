import { type Reconfiguration, ReconfigurationPolicyRequest, type ReconfigurationRequest } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ControlLoops } from '../../../platform/control-loop/control-loops.js';
import type { Log } from '../../../platform/log.js';
import { invalid } from '../../../platform/problem.js';
import type { DeploymentView } from '../../../ports/deployment-view.js';
import type { NfLoads } from '../../../ports/nf-loads.js';
import type { Cause, Reconfigurer } from '../../../ports/reconfigurer.js';
import type { Records } from '../records/records.js';
import type { Policies, StoredPolicy } from './policies.js';
import { PolicyWatcher } from './policy-watcher.js';

const FOR_S = 5;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function policyOf(id: string, cooldown_s = 0): StoredPolicy {
  const threshold = { metric: 'pps', up: 100, down: 10, for_s: FOR_S };
  const nf = { chain_id: id, node_id: 'nf' };
  return { ...ReconfigurationPolicyRequest.parse({ title: id, nf, threshold, cooldown_s }), id };
}

/** A watcher of NFs whose load is always above the threshold; `asked` records the time in s and the chain of each request. */
function bench(refuses: (chain: string) => boolean, cooldown_s = 0, records: readonly Reconfiguration[] = []) {
  const policies = ['a', 'b'].map((id) => policyOf(id, cooldown_s));
  const asked: { chain: string; at_s: number; trigger: string }[] = [];
  const began = performance.now();
  const request = async ({ nf }: ReconfigurationRequest, { trigger }: Cause) => {
    asked.push({ chain: nf.chain_id, at_s: (performance.now() - began) / 1000, trigger });
    if (refuses(nf.chain_id)) throw invalid([{ pointer: '/slot', detail: 'there is no such slot', code: 'gone' }]);
  };
  const watcher = new PolicyWatcher(
    new ControlLoops({ warn: () => undefined, error: () => undefined } as unknown as Log),
    { of: () => 1000 } as unknown as NfLoads,
    { plan: null, comingPlan: null } as DeploymentView,
    { all: () => policies } as unknown as Policies,
    { all: () => records } as unknown as Records,
    { holderOf: () => null, request } as unknown as Reconfigurer,
  );
  watcher.onApplicationBootstrap();
  const timesOf = (chain: string) => asked.filter((it) => it.chain === chain).map(({ at_s }) => at_s);
  return { policies, timesOf, asked };
}

const pass = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1000);

it('samples from before a policy was disabled or replaced do not count', async () => {
  const { policies, timesOf, asked } = bench(() => false);
  const [policy] = policies.splice(0);
  const replace = (enabled: boolean) => policies.splice(0, 1, { ...policy!, enabled });
  replace(true);
  await pass(FOR_S - 1);
  replace(false);
  await pass(10);
  replace(true);
  await pass(FOR_S - 1);
  replace(true);
  await pass(FOR_S);
  expect(asked).toEqual([]);
  await pass(1);
  expect(timesOf('a')[0]).toBe(10 + 2 * (FOR_S - 1) + FOR_S + 0.5);
  expect(asked[0]!.trigger).toContain(`for ${FOR_S} s`);
});

it('a refused policy does not block the others, and is retried with growing delays', async () => {
  const { timesOf } = bench((chain) => chain === 'a');
  await pass(100);
  expect(timesOf('b')[0]).toBe(FOR_S);
  const times = timesOf('a');
  expect(times.slice(1).map((at, n) => at - times[n]!)).toEqual([5, 10, 20, 40]);
});

it('an accepted request resets the delay of earlier refusals', async () => {
  let refusals = 3;
  const { timesOf } = bench((chain) => chain === 'a' && refusals-- > 0);
  await pass(60);
  const times = timesOf('a');
  expect(times.slice(1, 5).map((at, n) => at - times[n]!)).toEqual([5, 10, 20, 0.5]);
});

describe('after the clock was set back by an hour', () => {
  const setBack = () => vi.setSystemTime(Date.now() - 3_600_000);
  const movedNow = () =>
    ({
      state: 'completed',
      ended_ms: Date.now(),
      moves: [{ chain_id: 'a', node_id: 'nf' }],
    }) as unknown as Reconfiguration;

  it('a policy still requests what is due', async () => {
    const { timesOf } = bench(() => false, 20);
    await pass(FOR_S);
    expect(timesOf('a')).toEqual([FOR_S]);
    setBack();
    await pass(20);
    expect(timesOf('a')).toEqual([FOR_S, FOR_S + 20]);
  });

  it('a cooldown that a stored reconfiguration began goes on', async () => {
    const { timesOf } = bench(() => false, 20, [movedNow()]);
    await pass(FOR_S);
    setBack();
    await pass(20);
    expect(timesOf('a')[0]).toBe(20);
  });

  it('a server that starts waits for the cooldown, and no longer', async () => {
    const records = [movedNow()];
    setBack();
    const { timesOf } = bench(() => false, 20, records);
    await pass(60);
    expect(timesOf('a')[0]).toBe(FOR_S + 20);
    expect(timesOf('b')[0]).toBe(FOR_S);
  });
});
