import {
  type ChainDefinition,
  DIRECT_ATTRIBUTES,
  flawOfRanges,
  type Infrastructure,
  type NfSplit,
  nfInstances,
  Plan,
  type PlannedChain,
  type SwitchAbilities,
} from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ASSUMED_ABILITIES } from '../lower/switch/abilities.js';
import type { Memo } from '../memo.js';
import { chainOf } from '../testing/chains.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { FreezingMemo } from '../testing/freezing-memo.js';
import { rack } from '../testing/infrastructure.js';
import { makePlan } from './make-plan.js';

/** A switch that knows no hash at all. */
const BLIND: SwitchAbilities = { ...ASSUMED_ABILITIES, groups: { ...ASSUMED_ABILITIES.groups, select: [] } };
const KEEP = { capacity: 100, idle_timeout_s: 5 };
const HALVES = [
  { lo: 0, hi: 40_000 },
  { lo: 40_000, hi: 65_536 },
];

const RACK = rack({ servers: 8, cores: 4, ghz: 1, nic_bps: 1e12, link_bps: 1e12 });
/** The same with client 2 at a switch of its own. */
const TWO_SWITCHES: Infrastructure = {
  ...RACK,
  switches: [RACK.switches[0]!, { ...RACK.switches[0]!, id: 'switch-2' }],
  links: [
    ...RACK.links.map((link) => (link.a.node === 'client-2' ? { ...link, b: { node: 'switch-2', port: 'p1' } } : link)),
    { ...RACK.links[0]!, id: 'trunk', a: { node: 'switch-1', port: 'p60' }, b: { node: 'switch-2', port: 'p2' } },
  ],
};

interface Asked {
  readonly base?: Plan | null;
  readonly splits?: NfSplit[];
  readonly abilities?: SwitchAbilities;
  readonly definition?: ChainDefinition;
  readonly memo?: Memo;
  readonly infrastructure?: Infrastructure;
  /** Of the second switch. */
  readonly others?: SwitchAbilities;
}

const drawn = (rate_bps: number, from = ['client-1']) =>
  chainOf(
    { fw: 'firewall', ids: 'ids' },
    [
      ['in', 'fw'],
      ['fw', 'ids'],
      ['ids', 'out'],
    ],
    { rate_bps, from },
  );

function planned(
  rate_bps: number,
  {
    base = null,
    splits,
    abilities = BLIND,
    definition = drawn(rate_bps),
    memo,
    infrastructure = RACK,
    others = abilities,
  }: Asked = {},
): Plan {
  const chain: PlannedChain = { chain_id: 'p-1', version: 1, definition, ...(splits ? { splits } : {}) };
  const plan = makePlan({
    id: base ? 'after' : 'before',
    created_ms: 0,
    chains: [chain],
    descriptors: CATALOGUE,
    infrastructure,
    switches: new Map([
      ['switch-1', abilities],
      ['switch-2', others],
    ]),
    base,
    budget: { steps: 50 },
    ...(memo ? { memo } : {}),
  });
  expect(() => Plan.parse(plan)).not.toThrow();
  return plan;
}

const splitNode = ({ graph }: Plan) => graph.nodes.find((node) => node.kind === 'split');
const moduleOf = (plan: Plan) =>
  Object.values(plan.nodes).flatMap(({ modules = [] }) => modules.filter(({ id }) => id === 'p.e0.split'));

describe('an NF of several instances behind a switch that cannot share out flows', () => {
  it('has all its packets sent to one engine, which shares them out by ranges that partition the flows', () => {
    fc.assert(
      fc.property(fc.integer({ min: 6, max: 12 }), (gbps) => {
        const plan = planned(gbps * 1e9);
        expect(plan.conflicts).toEqual([]);
        const instances = nfInstances(plan.graph).filter(({ node_id }) => node_id === 'fw');
        expect(instances.length).toBeGreaterThan(1);
        const split = splitNode(plan)!;
        const rule = plan.fabric.rules.find(({ kind }) => kind === 'classify')!;
        expect(rule.targets).toMatchObject([{ server: split.server, range: { lo: 0, hi: 65_536 } }]);
        const [module, ...others] = moduleOf(plan);
        expect(others).toEqual([]);
        expect(module).toMatchObject({ kind: 'queue', core: split.core });
        const { outputs } = module as Extract<typeof module, { kind: 'queue' }>;
        expect(outputs).toHaveLength(1);
        const { targets, match, key } = outputs[0]!;
        expect([match, key.length > 0]).toEqual([[], true]);
        expect(flawOfRanges(targets.map(({ range }) => range))).toBeNull();
        expect(targets).toHaveLength(instances.length);
        const { at, targets: told } = plan.splits.find(({ node_id }) => node_id === 'fw')!;
        expect(at).toBe('engine');
        expect(told.map(({ instance_id }) => instance_id)).toEqual(instances.map(({ id }) => id));
        for (const [i, { to }] of targets.entries()) {
          const edge = plan.graph.edges.find((it) => it.from === split.id && it.to === instances[i]!.id)!;
          expect(to).toEqual(
            edge.hop === null ? { kind: 'instance', instance_id: instances[i]!.id } : { kind: 'hop', hop: edge.hop },
          );
          expect(edge.hop === null).toBe(instances[i]!.server === split.server);
        }
        expect(plan.classes[0]!.mean_us).toBeGreaterThan(0);
      }),
      { numRuns: 8 },
    );
  });

  it('says so, and stays where it runs whatever else changes', () => {
    const before = planned(6e9);
    const reason = before.reasons.find(({ subject }) => subject === 'p.fw')!;
    expect(reason.because).toMatch(/hash ip\.src, ip\.dst.* switch-1 cannot do that/);
    const after = planned(6.1e9, { base: before });
    expect(splitNode(after)).toMatchObject({ server: splitNode(before)!.server, core: splitNode(before)!.core });
    expect(after.diff.moved).toEqual([]);
  });

  it('has a split for each class that enters it, with the forecast of each', () => {
    const definition = chainOf(
      { fw: 'firewall' },
      [
        ['in', 'fw', [['port.dst', 'is', 80]], 2e9],
        ['in', 'fw', [['port.dst', 'is', 443]], 4e9],
        ['fw', 'out'],
      ],
      { rate_bps: 6e9 },
    );
    const plan = planned(6e9, { definition });
    expect(plan.conflicts).toEqual([]);
    const splits = plan.graph.nodes.filter((node) => node.kind === 'split');
    expect(splits).toMatchObject([
      { id: 'p.e0.split', node_id: 'fw', load_bps: 2e9 },
      { id: 'p.e1.split', node_id: 'fw', load_bps: 4e9 },
    ]);
    const rules = plan.fabric.rules.filter(({ kind }) => kind === 'classify');
    expect(rules.map(({ targets }) => targets.length)).toEqual([1, 1]);
    expect(new Set(rules.map(({ targets }) => targets[0]!.hop)).size).toBe(2);
    const modules = Object.values(plan.nodes).flatMap((node) => node.modules ?? []);
    expect(modules).toMatchObject([
      { outputs: [{ edge_id: 'p.e0', targets: [{}, {}] }] },
      { outputs: [{ edge_id: 'p.e1', targets: [{}, {}] }] },
    ]);
    expect(plan.classes.map(({ rate_bps }) => rate_bps)).toEqual([2e9, 4e9]);
    for (const { mean_us, way } of plan.classes) {
      expect(mean_us).toBeGreaterThan(6);
      expect(way?.instances).toHaveLength(1);
    }
  });

  it('has a way for a flow, through the split to one of its instances', () => {
    const plan = planned(6e9);
    const [{ way }] = plan.classes as [Plan['classes'][number]];
    const { way: direct } = planned(6e9, { abilities: ASSUMED_ABILITIES }).classes[0]!;
    expect(way?.instances).toHaveLength(2);
    expect(way!.latency_us).toBeGreaterThan(direct!.latency_us);
    expect(plan.quality.map(({ part }) => part)).toContain('chaining');
    expect(plan.reasons.map(({ decision }) => decision)).not.toContain('no way');
  });

  it('loses state of flows in progress where another hash shares them out, and the plan says so', () => {
    const able = { abilities: ASSUMED_ABILITIES };
    const before = planned(6e9, able);
    const after = planned(6e9, { ...able, base: before, splits: [{ node_id: 'fw', keep_flows: KEEP }] });
    const warnings = (plan: Plan) => plan.problems.map(({ code, node }) => [code, node]);
    expect(splitNode(after)?.kind).toBe('split');
    // The detector followed the firewall's split in the switch.
    const [both, none] = [['fw', 'ids'].map((node) => ['flow-state-lost', node]), []];
    expect(warnings(after)).toEqual(both);
    expect(warnings(planned(6e9, { ...able, base: after }))).toEqual(both);
    expect(warnings(planned(6.1e9, { ...able, base: before }))).toEqual(none);
    expect(warnings(planned(6.1e9, { base: planned(6e9) }))).toEqual(none);
  });

  it('forgets the flows that it keeps where its server is gone, and the plan says so', () => {
    const before = planned(6e9, { splits: [{ node_id: 'fw', keep_flows: KEEP }] });
    const { id, server } = splitNode(before)!;
    const infrastructure: Infrastructure = {
      ...RACK,
      servers: RACK.servers.filter((it) => it.id !== server),
      links: RACK.links.filter(({ a }) => a.node !== server),
    };
    const after = planned(6e9, { base: before, infrastructure, splits: [{ node_id: 'fw', keep_flows: KEEP }] });
    expect(after.diff.moved).toContain(id);
    expect(after.problems.find(({ node }) => node === 'fw')?.message).toMatch(
      /flows that p\.e0\.split keeps at their instances follow the ranges again/,
    );
    const untold = planned(6e9, {
      base: planned(6e9, { splits: [{ node_id: 'fw', keep_flows: null }] }),
      infrastructure,
    });
    expect(untold.problems.map(({ message }) => message).join()).not.toMatch(/keeps at their instances/);
  });

  it('gets the ranges and keeps the flows that are asked', () => {
    const before = planned(6e9);
    const fw = nfInstances(before.graph).filter(({ node_id }) => node_id === 'fw');
    expect(fw).toHaveLength(2);
    const plan = planned(6e9, { base: before, splits: [{ node_id: 'fw', ranges: HALVES, keep_flows: KEEP }] });
    expect(plan.splits.find(({ node_id }) => node_id === 'fw')).toMatchObject({ at: 'engine', keep_flows: KEEP });
    const module = moduleOf(plan)[0] as { outputs: unknown[] };
    expect(module.outputs).toMatchObject([{ targets: HALVES.map((range) => ({ range })), keep_flows: KEEP }]);
  });

  it('is shared out by the switch as soon as that can', () => {
    expect(splitNode(planned(6e9, { abilities: ASSUMED_ABILITIES }))).toBeUndefined();
    const kept = { abilities: ASSUMED_ABILITIES, splits: [{ node_id: 'fw', keep_flows: KEEP }] };
    expect(splitNode(planned(6e9, kept))?.kind).toBe('split');
    expect(splitNode(planned(1e8))).toBeUndefined();
  });

  it('is shared out by an engine where the switch knows the hash but matches no ranges of it', () => {
    const matching = (kind: 'exact' | 'mask'): SwitchAbilities => ({
      ...BLIND,
      hashes: [[...DIRECT_ATTRIBUTES]],
      match: { ...BLIND.match, flow_id: { kind, negation: false }, split: { kind: 'exact', negation: false } },
    });
    expect(splitNode(planned(6e9, { abilities: matching('exact') }))?.kind).toBe('split');
    expect(splitNode(planned(6e9, { abilities: matching('mask') }))).toBeUndefined();
  });

  it('is shared out by an engine as soon as one of the switches at which the class enters cannot', () => {
    const mixed = { infrastructure: TWO_SWITCHES, abilities: ASSUMED_ABILITIES, others: BLIND };
    const from = (...hosts: string[]) => planned(6e9, { ...mixed, definition: drawn(6e9, hosts) });
    for (const plan of [from('client-1', 'client-2'), from('client-2')]) {
      expect(plan.conflicts).toEqual([]);
      const { server } = splitNode(plan)!;
      const [rule, ...others] = plan.fabric.rules.filter(({ kind }) => kind === 'classify');
      expect(rule!.targets).toMatchObject([{ server, range: { lo: 0, hi: 65_536 } }]);
      expect(others).toEqual([]);
    }
    const able = from('client-1');
    expect(able.conflicts).toEqual([]);
    expect(splitNode(able)).toBeUndefined();
    expect(splitNode(planned(6e9, { ...mixed, others: ASSUMED_ABILITIES }))).toBeUndefined();
  });

  it('is shared out by an engine where one switch knows the flow hash and another has its own', () => {
    const hashing: SwitchAbilities = {
      ...ASSUMED_ABILITIES,
      hashes: [[...DIRECT_ATTRIBUTES]],
      match: {
        ...ASSUMED_ABILITIES.match,
        flow_id: { kind: 'mask', negation: false },
        split: { kind: 'exact', negation: false },
      },
    };
    const behind = (abilities: SwitchAbilities, others: SwitchAbilities) =>
      planned(6e9, {
        ...{ infrastructure: TWO_SWITCHES, abilities, others },
        definition: drawn(6e9, ['client-1', 'client-2']),
      });
    const mixed = behind(hashing, ASSUMED_ABILITIES);
    expect(splitNode(mixed)?.kind).toBe('split');
    expect(mixed.reasons.find(({ subject }) => subject === 'p.fw')!.because).toMatch(/switch-2 cannot do that/);
    expect(splitNode(behind(hashing, hashing))).toBeUndefined();
    expect(splitNode(behind(ASSUMED_ABILITIES, ASSUMED_ABILITIES))).toBeUndefined();
  });

  it('is the same with parts of plans for a switch that could, or that knew another hash', () => {
    const memo = new FreezingMemo(2000);
    const few = { ...ASSUMED_ABILITIES, groups: { ...ASSUMED_ABILITIES.groups, select: ['ip.src' as const] } };
    for (const abilities of [ASSUMED_ABILITIES, BLIND, few, ASSUMED_ABILITIES, BLIND])
      expect(planned(6e9, { abilities, memo })).toEqual(planned(6e9, { abilities }));
  });
});
