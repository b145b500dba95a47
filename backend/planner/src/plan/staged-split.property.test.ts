import {
  FLOW_SPACE,
  type FlowRange,
  flowIdentity,
  type NfSplit,
  nfInstances,
  Plan,
  type PlannedChain,
  type SplitFlow,
  type StagedSplit,
  type SwitchAbilities,
} from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keptInFront } from '../igraph/asked-split.js';
import { equalRanges } from '../igraph/flow-range.js';
import { lowerFabric } from '../lower/switch/lower-fabric.js';
import { chainOf } from '../testing/chains.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { beginningFlows, between, holds, inForce, instanceOf, Memory, P4, type Running } from '../testing/flow-walk.js';
import { rack } from '../testing/infrastructure.js';
import { makePlan } from './make-plan.js';

/** Each instance needs a server of its own. */
const RACK = rack({ servers: 8, cores: 1, ghz: 1, nic_bps: 1e12, link_bps: 1e12 });
const FIELDS = ['ip.src', 'ip.dst', 'ip.proto', 'port.src', 'port.dst'] as const;
const IDLE_S = 20;
const WHOLE: FlowRange[] = [{ lo: 0, hi: FLOW_SPACE }];

interface Asked {
  readonly gbps: number;
  readonly base?: Plan | null;
  readonly staged?: Omit<StagedSplit, 'exceptions' | 'idle_timeout_s'> & Partial<StagedSplit>;
  readonly ranges?: FlowRange[];
  readonly abilities?: SwitchAbilities;
  /** In place of ranges and steps. */
  readonly split?: NfSplit;
  readonly without_servers?: string[];
}

function planned({
  gbps,
  base = null,
  staged,
  ranges,
  split: given,
  abilities = P4,
  without_servers = [],
}: Asked): Plan {
  const definition = chainOf(
    { fw: 'firewall' },
    [
      ['in', 'fw'],
      ['fw', 'out'],
    ],
    { rate_bps: gbps * 1e9 },
  );
  const split: NfSplit = given ?? {
    node_id: 'fw',
    ...(ranges ? { ranges } : {}),
    ...(staged ? { staged: { exceptions: [], idle_timeout_s: IDLE_S, ...staged } } : {}),
  };
  const chain: PlannedChain = {
    chain_id: 'p-1',
    version: 1,
    definition,
    ...(staged || given ? { splits: [split] } : {}),
  };
  const plan = makePlan({
    id: base ? `after-${base.id}`.slice(0, 100) : 'start',
    created_ms: 0,
    chains: [chain],
    descriptors: CATALOGUE,
    infrastructure: RACK,
    switches: new Map([['switch-1', abilities]]),
    base,
    without_servers,
    budget: { steps: 50 },
  });
  expect(() => Plan.parse(plan)).not.toThrow();
  return plan;
}

const fw = ({ graph }: Plan) => nfInstances(graph).filter(({ node_id }) => node_id === 'fw');
const entriesOf = (rules: Plan['fabric']['rules']) =>
  lowerFabric(RACK, new Map([['switch-1', P4]]), rules, {}).switches.get('switch-1')!;

/** From one instance to two, or from two to three. */
const growths = fc.constantFrom(
  { small: 3, large: 6, held: WHOLE, count: 2 },
  { small: 6, large: 13, held: equalRanges(2), count: 3 },
);

describe('a first NF that is split in steps (E2 3.4.4, figure 3.5)', () => {
  it('leaves a server that it has to leave, in each step', () => {
    const step1 = planned({ gbps: 3, base: planned({ gbps: 3 }), staged: { held: WHOLE } });
    const step2 = planned({ gbps: 6, base: step1, staged: { held: WHOLE } });
    expect(fw(step2)).toHaveLength(2);
    for (const [gbps, base] of [
      [3, step1],
      [6, step2],
    ] as const) {
      const { server } = fw(base)[0]!;
      const after = planned({ gbps, base, staged: { held: WHOLE }, without_servers: [server!] });
      expect(after.feasible).toBe(true);
      expect(after.graph.nodes.filter((node) => 'server' in node && node.server === server)).toEqual([]);
    }
  });

  it('keeps every flow at its instance and loses no packet in any state between, and the switch gets few entries', () => {
    let exceptionsSeen = 0;
    fc.assert(
      fc.property(growths, beginningFlows, fc.integer({ min: 5, max: 30 }), (growth, all, began) => {
        const { small, large, held, count } = growth;
        const start = planned({ gbps: small });
        expect(fw(start)).toHaveLength(held.length);
        const tracking = planned({ gbps: small, base: start, staged: { held } });
        const split = planned({ gbps: large, base: tracking, staged: { held } });
        expect(split.conflicts).toEqual([]);
        expect(fw(split)).toHaveLength(count);
        for (const plan of [tracking, split]) {
          expect(plan.problems).toEqual([]);
          const classes = (it: Plan) => it.fabric.rules.filter(({ kind }) => kind === 'classify');
          expect(classes(plan)).toEqual(classes(start));
        }
        expect(entriesOf(tracking.fabric.rules).entries).toEqual(entriesOf(start.fabric.rules).entries);

        const memory = new Memory();
        const home = new Map<SplitFlow, string>();
        const passing = (running: Running, those: readonly SplitFlow[], what: string) => {
          for (const flow of those) {
            const met = instanceOf(running, memory, flow);
            expect(met, `${what}: a packet is lost`).not.toBeNull();
            expect(met, what).toBe(home.get(flow) ?? met);
            home.set(flow, met!);
          }
        };
        const old = all.slice(0, began);
        passing(inForce(start), old, 'before');
        for (const [i, state] of between(start, tracking).entries()) passing(state, old, `tracking, state ${i}`);
        // It tracks until every flow in progress has had a packet.
        for (const [i, state] of between(tracking, split).entries()) passing(state, old, `ranges, state ${i}`);
        passing(inForce(split), all, 'while split');
        const ranges = split.splits[0]!.targets.map(({ range }) => range);
        const ordinals = new Map(fw(split).map(({ id, ordinal }) => [id, ordinal]));
        const exceptions = all.flatMap((flow) => {
          const ordinal = ordinals.get(home.get(flow)!)!;
          return holds(ranges[ordinal]!, flowIdentity(flow)) ? [] : [{ flow, ordinal }];
        });
        exceptionsSeen += exceptions.length;
        const over = planned({ gbps: large, base: split, staged: { exceptions } });
        expect([over.conflicts, over.problems]).toEqual([[], []]);
        expect(over.graph.nodes.some(({ kind }) => kind === 'split')).toBe(false);
        expect(over.splits).toMatchObject([{ at: 'switch', key: [...FIELDS] }]);
        for (const [i, state] of between(split, over).entries()) passing(state, all, `hand-over, state ${i}`);
        const { entries, most_entries } = over.tables[0]!;
        const more = entries - start.tables[0]!.entries - exceptions.length;
        // A range and a hop for each new instance, and one entry that sends on what is no exception.
        expect(more).toBeLessThanOrEqual(4);
        expect(most_entries).toBeGreaterThanOrEqual(entries);
        expect(entriesOf(over.fabric.rules).exceptions ?? []).toHaveLength(exceptions.length);
      }),
      { numRuns: 12, endOnFailure: true },
    );
    expect(exceptionsSeen).toBeGreaterThan(20);
  });

  it('counts the detour: the split on the old server, what crosses from there, and its time', () => {
    const start = planned({ gbps: 3 });
    const tracking = planned({ gbps: 3, base: start, staged: { held: WHOLE } });
    const split = planned({ gbps: 6, base: tracking, staged: { held: WHOLE } });
    const over = planned({ gbps: 6, base: split, staged: {} });
    const [old] = fw(start);
    const node = split.graph.nodes.find(({ kind }) => kind === 'split')!;
    expect(node).toMatchObject({ server: old!.server, in_front_of: 0, tracks: true });
    expect('core_share' in node && node.core_share).toBeGreaterThan(0);
    expect(fw(split)[0]).toMatchObject({ id: old!.id, server: old!.server, core: old!.core });
    const crossing = split.graph.edges.filter(({ from, hop }) => from === node.id && hop !== null);
    const away = fw(split).filter(({ server }) => server !== old!.server);
    expect(crossing.map(({ to }) => to)).toEqual(away.map(({ id }) => id));
    expect(split.classes[0]!.mean_us).toBeGreaterThan(over.classes[0]!.mean_us!);
  });

  it('tells for how long flows are tracked before ranges change, and where the split is', () => {
    const start = planned({ gbps: 3 });
    const because = (plan: Plan) => plan.reasons.find(({ subject }) => subject === 'p.fw')!.because;
    const tracking = planned({ gbps: 3, base: start, staged: { held: WHOLE } });
    expect(because(tracking)).toMatch(/after 20 s it knows all in progress/);
    const split = planned({ gbps: 6, base: tracking, staged: { held: WHOLE } });
    expect(because(split)).toMatch(/sends new flows by ranges and keeps those in progress/);
    expect(because(planned({ gbps: 6, base: split, staged: {} }))).toMatch(/taken over the ranges, and 0 flows/);
  });

  it('says that flows lose state where ranges change before they are tracked', () => {
    const start = planned({ gbps: 3 });
    const rash = planned({ gbps: 6, base: start, staged: { held: WHOLE } });
    expect(rash.problems.map(({ code }) => code)).toEqual(['flow-state-lost']);
  });

  it('is tracked by as long as the switches keep flows, whatever its other limits are', () => {
    const keep_flows = { capacity: 7, idle_timeout_s: 99 };
    expect(keptInFront({ node_id: 'fw', keep_flows, staged: { exceptions: [], idle_timeout_s: IDLE_S } })).toEqual({
      capacity: 7,
      idle_timeout_s: IDLE_S,
    });
  });

  it('needs no engine where the switch keeps the flows of one instance by an entry each, until there are two', () => {
    const keep_flows = { capacity: 300, idle_timeout_s: 9 };
    const kept = (instances: number, base: Plan | null) => {
      const split = { node_id: 'fw', instances, keep_flows };
      return planned({ gbps: 3, base, split });
    };
    const one = kept(1, planned({ gbps: 3 }));
    const rule = (plan: Plan) => plan.fabric.rules.find(({ kind }) => kind === 'classify');
    expect(rule(one)).toMatchObject({ keep_flows, key: [...FIELDS], targets: [{}] });
    const two = kept(2, one);
    expect(rule(two)).toMatchObject({ keep_flows, targets: [{}, {}] });
    expect(two.problems).toEqual([]);
    expect(two.graph.nodes.some(({ kind }) => kind === 'split')).toBe(false);
    // Untracked until now: flows in progress follow the ranges.
    expect(kept(2, planned({ gbps: 3 })).problems.map(({ code }) => code)).toEqual(['flow-state-lost']);
  });

  it('is not handed over to a switch that hashes otherwise, which is told by name', () => {
    const start = planned({ gbps: 3 });
    const tracking = planned({ gbps: 3, base: start, staged: { held: WHOLE } });
    const split = planned({ gbps: 6, base: tracking, staged: { held: WHOLE } });
    const abilities = { ...P4, takes_splits: false };
    const over = planned({ gbps: 6, base: split, staged: {}, abilities });
    expect(over.feasible).toBe(false);
    expect(JSON.stringify([over.conflicts, over.problems])).toMatch(
      /switch-1 cannot take over a split: it hashes flows otherwise than engines do|switch-ability.*switch-1/,
    );
    expect(over.fabric).toEqual(split.fabric);
  });
});
