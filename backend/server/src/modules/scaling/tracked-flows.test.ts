import type { NfSplit, Plan } from '@orrery/contract';
import { equalRanges } from '@orrery/planner';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { DeploymentView } from '../../ports/deployment-view.js';
import { TrackedFlows } from './tracked-flows.js';

const nf = { chain_id: 'c-1', node_id: 'ids' };
const IDLE_S = 60;

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'Date'] }));
afterEach(() => void vi.useRealTimers());

/** Instances behind an engine on a server, which tracks their flows unless it was asked not to. */
function planOf(split: Pick<NfSplit, 'keep_flows'> = {}, instances = 2, from_server = 's-1'): Plan {
  const ranges = equalRanges(instances);
  const ids = ranges.map((_, ordinal) => `web.ids.${ordinal}`);
  const targets = ids.map((instance_id, i) => ({ instance_id, range: ranges[i] }));
  return {
    graph: {
      nodes: ids.map((id, ordinal) => ({ kind: 'nf', id, ...nf, ordinal })),
      edges: ids.map((to) => ({
        ...{ chain_id: 'c-1', from: 'web.fw.0', from_server, to, direction: 'forward', key: ['ip.src'] },
      })),
    },
    chains: [{ chain_id: 'c-1', definition: { edges: [] }, splits: [{ node_id: 'ids', instances, ...split }] }],
    splits: instances > 1 ? [{ ...nf, targets, keep_flows: split.keep_flows === null ? null : {} }] : [],
  } as unknown as Plan;
}

function serverWith(planInForce: Plan) {
  const view = { plan: planInForce, planInForce, isGoingBack: false };
  const listeners: (() => void)[] = [];
  const tracked = new TrackedFlows({
    ...{ onChange: (listener: () => void) => void listeners.push(listener) },
    get plan() {
      return view.plan;
    },
    get planInForce() {
      return view.planInForce;
    },
    get isGoingBack() {
      return view.isGoingBack;
    },
  } as unknown as DeploymentView);
  tracked.onApplicationBootstrap();
  const change = (next: Partial<typeof view>) => {
    Object.assign(view, next);
    for (const listener of listeners) listener();
  };
  const deploy = (plan: Plan) => change({ plan, planInForce: plan });
  const wait = (seconds: number) => vi.advanceTimersByTime(1000 * seconds);
  return { change, deploy, wait, areKnown: () => tracked.areKnown(nf, IDLE_S) };
}

it('flows are known once they were tracked for an idle time, whoever asked for that, and not before the server looked', () => {
  const { deploy, wait, areKnown } = serverWith(planOf({ keep_flows: null }));
  wait(1000);
  expect(areKnown()).toBe(false);
  deploy(planOf());
  wait(IDLE_S - 1);
  expect(areKnown()).toBe(false);
  wait(1);
  expect(areKnown()).toBe(true);
  // Whether the next server is started late is nothing that it could know.
  const next = serverWith(planOf());
  expect(next.areKnown()).toBe(false);
  next.wait(IDLE_S);
  expect(next.areKnown()).toBe(true);
});

it('flows stay known when the number of instances changes, and not when another engine shares them out', () => {
  const { change, deploy, wait, areKnown } = serverWith(planOf());
  wait(IDLE_S);
  const three = planOf({}, 3);
  change({ plan: three });
  deploy(three);
  deploy(planOf({}, 1));
  expect(areKnown()).toBe(true);
  deploy(planOf({}, 1, 's-2'));
  expect(areKnown()).toBe(false);
  wait(IDLE_S);
  expect(areKnown()).toBe(true);
  // A move that came to nothing has lost them, too.
  const before = planOf({}, 1, 's-2');
  deploy(before);
  change({ plan: planOf({}, 1, 's-3') });
  wait(IDLE_S);
  change({ plan: before });
  expect(areKnown()).toBe(false);
  wait(IDLE_S);
  expect(areKnown()).toBe(true);
});

it('a move that is taken back counts from when all is back, not from when that begins', () => {
  const before = planOf();
  const { change, wait, areKnown } = serverWith(before);
  wait(IDLE_S);
  expect(areKnown()).toBe(true);
  change({ plan: planOf({}, 2, 's-2') });
  expect(areKnown()).toBe(false);
  change({ plan: before, isGoingBack: true });
  wait(IDLE_S);
  expect(areKnown()).toBe(false);
  change({ isGoingBack: false });
  wait(IDLE_S - 1);
  expect(areKnown()).toBe(false);
  wait(1);
  expect(areKnown()).toBe(true);
});
