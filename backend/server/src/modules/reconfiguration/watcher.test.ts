import { ReconfigurationPolicyRequest, type ReconfigurationRequest } from '@orrery/contract';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Log } from '../../platform/log.js';
import { invalid } from '../../platform/problem.js';
import type { BoardView } from '../../ports/board-view.js';
import type { DeploymentView } from '../../ports/deployment-view.js';
import type { Cause, ReconfigurationManager } from './manager.js';
import type { NfLoads } from './nf-loads.js';
import type { Policies, StoredPolicy } from './policies.js';
import type { Records } from './records.js';
import { Watcher } from './watcher.js';

const FOR_S = 5;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function policyOf(id: string): StoredPolicy {
  const threshold = { metric: 'pps', up: 100, down: 10, for_s: FOR_S };
  const nf = { pipeline_id: id, node_id: 'nf' };
  return { ...ReconfigurationPolicyRequest.parse({ title: id, nf, threshold, cooldown_s: 0 }), id };
}

/** A watcher of NFs whose load is always above the threshold; `asked` says when, in s, and for which chain it asked. */
function bench(refuses: (pipeline: string) => boolean) {
  const policies = ['a', 'b'].map(policyOf);
  const asked: { chain: string; at_s: number; trigger: string }[] = [];
  const began = Date.now();
  const request = async ({ nf }: ReconfigurationRequest, { trigger }: Cause) => {
    asked.push({ chain: nf.pipeline_id, at_s: (Date.now() - began) / 1000, trigger });
    if (refuses(nf.pipeline_id)) throw invalid([{ pointer: '/slot', detail: 'there is no such slot', code: 'gone' }]);
  };
  const watcher = new Watcher(
    { warn: () => undefined } as unknown as Log,
    { of: () => 1000 } as unknown as NfLoads,
    { plan: null, comingPlan: null } as DeploymentView,
    { broken: () => [], accelerators: () => [] } as unknown as BoardView,
    { all: () => policies } as unknown as Policies,
    { all: () => [] } as unknown as Records,
    { busy: false, request } as unknown as ReconfigurationManager,
  );
  watcher.onApplicationBootstrap();
  const timesOf = (chain: string) => asked.filter((it) => it.chain === chain).map(({ at_s }) => at_s);
  return { policies, timesOf, asked };
}

const pass = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1000);

it('what a policy saw before it was switched off, or replaced, does not count after', async () => {
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

it('a policy that is refused keeps no other from its turn, and is tried later each time', async () => {
  const { timesOf } = bench((chain) => chain === 'a');
  await pass(100);
  expect(timesOf('b')[0]).toBe(FOR_S + 0.5);
  const times = timesOf('a');
  expect(times.slice(1).map((at, n) => at - times[n]!)).toEqual([5, 10, 20, 40]);
});

it('a policy that is taken again is not held back by what was refused before', async () => {
  let refusals = 3;
  const { timesOf } = bench((chain) => chain === 'a' && refusals-- > 0);
  await pass(60);
  const times = timesOf('a');
  expect(times.slice(1, 5).map((at, n) => at - times[n]!)).toEqual([5, 10, 20, 0.5]);
});
