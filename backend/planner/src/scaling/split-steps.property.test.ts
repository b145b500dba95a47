import {
  FLOW_SPACE,
  type FlowRange,
  flowIdentity,
  type NfSplit,
  nfInstances,
  Plan,
  type PlannedChain,
  type ScalingStep,
  type SplitFlow,
  type StagedSplit,
  type SwitchAbilities,
} from '@orrery/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { equalRanges } from '../igraph/flow-range.js';
import { scaledRanges } from '../igraph/scaled-ranges.js';
import { makePlan } from '../plan/make-plan.js';
import { chainOf } from '../testing/chains.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { beginningFlows, between, holds, inForce, instanceOf, Memory, P4 } from '../testing/flow-walk.js';
import { rack } from '../testing/infrastructure.js';
import { flawOfSteps, leavesSwitches, numbersOf, stagedBy, whyNotInSteps } from './split-steps.js';

const RACK = rack({ servers: 8, cores: 1, ghz: 1, nic_bps: 1e12, link_bps: 1e12 });
/** As Open vSwitch: its hash is another one, and it keeps no flows that it is told. */
const OTHER_HASH: SwitchAbilities = { ...P4, takes_splits: false };
const definition = chainOf(
  { fw: 'firewall' },
  [
    ['in', 'fw'],
    ['fw', 'out'],
  ],
  { rate_bps: 1e8 },
);

/** A chain whose first NF is scaled, with flows that come to it. */
class Rack {
  plan: Plan;
  readonly home = new Map<SplitFlow, string>();
  private readonly memory = new Memory();
  private sent = 0;
  private plans = 0;

  constructor(
    private readonly flows: readonly SplitFlow[],
    private readonly abilities: SwitchAbilities,
    instances: number,
  ) {
    this.plan = this.planned({ instances, ...(instances > 1 ? { ranges: equalRanges(instances) } : {}) }, null);
    this.begin(8);
  }

  get asked(): NfSplit | undefined {
    return this.plan.chains[0]!.splits?.[0];
  }

  get instances() {
    return nfInstances(this.plan.graph).toSorted((a, b) => a.ordinal - b.ordinal);
  }

  /** Empty: one instance has all. */
  get ranges(): FlowRange[] {
    return this.plan.splits[0]?.targets.map(({ range }) => range) ?? [];
  }

  /** Exceptions that switches would have to keep, from where every flow is. */
  exceptions(ranges: readonly FlowRange[]): StagedSplit['exceptions'] {
    const ordinals = new Map(this.instances.map(({ id, ordinal }) => [id, ordinal]));
    return [...this.home].flatMap(([flow, id]) => {
      const ordinal = ordinals.get(id)!;
      const own = ranges[ordinal];
      return own && holds(own, flowIdentity(flow)) ? [] : [{ flow, ordinal }];
    });
  }

  /** New flows. */
  begin(count: number): void {
    const fresh = this.flows.slice(this.sent, this.sent + count);
    this.sent += count;
    for (const flow of fresh) this.home.set(flow, this.meets(inForce(this.plan), flow, 'a new flow'));
  }

  /** Deploys the split; flows at instances that go have ended before. */
  to(split: Omit<NfSplit, 'node_id'>, what: string): void {
    const next = this.planned(split, this.plan);
    expect([next.conflicts, next.diff.moved], what).toEqual([[], []]);
    const there = new Set(nfInstances(next.graph).map(({ id }) => id));
    for (const [flow, id] of this.home) if (!there.has(id)) this.home.delete(flow);
    const lost = next.problems.filter(({ message }) => !message.includes('without a successor'));
    expect(lost, what).toEqual([]);
    for (const [i, running] of between(this.plan, next).entries())
      for (const [flow, id] of this.home)
        expect(this.meets(running, flow, `${what}, state ${i}`), `${what}, state ${i}`).toBe(id);
    this.plan = next;
    this.memory.keepOnly(inForce(next));
  }

  /** Whether the change can be made with flows that stay. `first`: the instance that is split. */
  scale(to: number, first?: number): boolean {
    const from = this.instances.length;
    const before = this.ranges;
    const change = { from, to, before, after: to === 1 ? [] : scaledRanges(before, to, first) };
    if (flawOfSteps(change, this.asked?.staged) !== null) return false;
    const take = (step: ScalingStep, exceptions: StagedSplit['exceptions'] = []) => {
      const staged = stagedBy(change, step, this.asked, exceptions);
      this.to({ ...numbersOf(change, step), ...(staged ? { staged } : {}) }, `${step} ${from} to ${to}`);
      this.begin(3);
    };
    if (!this.asked?.staged?.held) take('stage');
    if (to < from) take('drain');
    const leaves = leavesSwitches(this.asked?.staged, to) && to > 1;
    for (const [flow, id] of this.home)
      if (this.instances.findIndex((it) => it.id === id) >= to) this.home.delete(flow);
    take('resize', leaves ? this.exceptions(change.after) : []);
    expect(this.instances).toHaveLength(to);
    expect(this.ranges).toEqual(change.after);
    return true;
  }

  /** What the loop `split-handover` does, where there is something to hand over. */
  handOver(): boolean {
    const { staged, ...split } = this.asked!;
    // What the switches have already is not handed over.
    if (!staged?.held || this.ranges.length <= staged.held.length) return false;
    const { held: _held, ...rest } = staged;
    this.to({ ...split, staged: { ...rest, exceptions: this.exceptions(this.ranges) } }, 'hand over');
    expect(this.plan.splits[0]?.at).toBe('switch');
    return true;
  }

  private meets(running: Parameters<typeof instanceOf>[0], flow: SplitFlow, what: string): string {
    const met = instanceOf(running, this.memory, flow);
    expect(met, `${what}: a packet is lost`).not.toBeNull();
    return met!;
  }

  private planned(split: Omit<NfSplit, 'node_id'>, base: Plan | null): Plan {
    const chain: PlannedChain = { chain_id: 'p-1', version: 1, definition, splits: [{ node_id: 'fw', ...split }] };
    const plan = makePlan({
      id: `plan-${this.plans++}`,
      created_ms: 0,
      chains: [chain],
      descriptors: CATALOGUE,
      infrastructure: RACK,
      switches: new Map([['switch-1', this.abilities]]),
      base,
      budget: { steps: 50 },
    });
    expect(() => Plan.parse(plan)).not.toThrow();
    return plan;
  }
}

const changes = fc.array(fc.record({ to: fc.integer({ min: 1, max: 4 }), isOver: fc.boolean() }), {
  minLength: 2,
  maxLength: 6,
});

it('scale a first NF without a flow that changes its instance, whoever has its split before and after', () => {
  const seen = { out: 0, in: 0, over: 0, joined: 0, refused: 0 };
  fc.assert(
    fc.property(changes, beginningFlows, fc.integer({ min: 1, max: 2 }), (wanted, flows, instances) => {
      const it = new Rack(flows, P4, instances);
      for (const { to, isOver } of wanted) {
        const from = it.instances.length;
        if (to === from) continue;
        const isJoin = leavesSwitches(it.asked?.staged, to) || (to < from && !it.asked?.staged?.held);
        if (!it.scale(to)) seen.refused++;
        else if (to > from) seen.out++;
        else seen.in++;
        if (isJoin) seen.joined++;
        if (isOver && it.handOver()) seen.over++;
      }
    }),
    { numRuns: 16, endOnFailure: true },
  );
  for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0);
});

it('take instances away to which switches send flows, one after the other', () => {
  const [flows] = fc.sample(beginningFlows, { numRuns: 1, seed: 7 });
  const it = new Rack(flows!, P4, 2);
  // The widest of those that stay is no neighbour of the one that goes.
  expect(it.scale(3, 1)).toBe(true);
  expect(it.handOver()).toBe(true);
  it.begin(16);
  for (const to of [2, 1]) {
    expect(it.scale(to)).toBe(true);
    if (to > 1) expect(it.plan.splits[0]).toMatchObject({ at: 'switch' });
  }
});

it('need no ability of a switch to grow and to shrink again at the engine', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 2, maxLength: 5 }),
      beginningFlows,
      (wanted, flows) => {
        const it = new Rack(flows, OTHER_HASH, 1);
        const steering = () => it.plan.fabric.rules.filter(({ kind }) => kind === 'classify');
        const before = steering();
        for (const to of wanted) if (to !== it.instances.length) expect(it.scale(to)).toBe(true);
        expect(steering()).toEqual(before);
      },
    ),
    { numRuns: 6, endOnFailure: true },
  );
});

it('are not taken where an engine would forget flows, or switches would have to be told of several at once', () => {
  const change = (from: number, before: FlowRange[], to: number) => ({
    ...{ from, to, before },
    after: to === 1 ? [] : scaledRanges(before, to),
  });
  const held = equalRanges(2);
  const staged = { held, exceptions: [], idle_timeout_s: 5 };
  const quarters = scaledRanges(scaledRanges(held, 3), 4);
  expect(flawOfSteps(change(4, quarters, 2), staged)).toMatch(/one at a time: ask for 3 first/);
  expect(flawOfSteps(change(4, quarters, 3), staged)).toBeNull();
  expect(flawOfSteps(change(4, quarters, 1), { ...staged, held: equalRanges(1) })).toBeNull();
  // The first one reaches into what the second engine holds, and would keep the lower half, which is not of that.
  const wide = [
    { lo: 0, hi: 49_152 },
    { lo: 49_152, hi: FLOW_SPACE },
  ];
  expect(flawOfSteps(change(2, wide, 3), staged)).toMatch(/cut an engine off/);
  expect(flawOfSteps(change(2, wide, 3), undefined)).toBeNull();
});

it('are those of an NF that all flows enter by one edge from the ingress, in sequence', () => {
  expect(whyNotInSteps({ definition }, 'fw', undefined)).toBeNull();
  expect(whyNotInSteps({ definition }, 'fw', 'parallel')).toMatch(/in sequence/);
  const { edges } = definition;
  const twice = { ...definition, edges: [...edges, { ...edges[0]!, id: 'again' }] };
  expect(whyNotInSteps({ definition: twice }, 'fw', undefined)).toMatch(/one edge from the ingress/);
});
