import {
  type ChainDefinition,
  flawOfRanges,
  type NfSplit,
  nfInstances,
  Plan,
  type PlannedChain,
  type Quality,
  type SwitchAbilities,
} from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ASSUMED_ABILITIES } from '../lower/switch/abilities.js';
import { chainOf } from '../testing/chains.js';
import { unhurried } from '../testing/clock.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { testSolver } from '../testing/highs.js';
import { rack } from '../testing/infrastructure.js';
import { certifyPlan } from './certify-plan.js';
import { makePlan } from './make-plan.js';

/** A switch that knows no hash at all. */
const BLIND: SwitchAbilities = { ...ASSUMED_ABILITIES, groups: { ...ASSUMED_ABILITIES.groups, select: [] } };
const KEEP = { capacity: 100, idle_timeout_s: 5 };
const HALVES = [
  { lo: 0, hi: 40_000 },
  { lo: 40_000, hi: 65_536 },
];

const line = (rate_bps: number) =>
  chainOf(
    { fw: 'firewall', ids: 'ids' },
    [
      ['in', 'fw'],
      ['fw', 'ids'],
      ['ids', 'out'],
    ],
    { rate_bps },
  );
const servers = (cores: number) => rack({ servers: 8, cores, ghz: 1, nic_bps: 1e12, link_bps: 1e12 });

function planned(
  rate_bps: number,
  {
    base = null,
    splits,
    abilities = BLIND,
    definition = line(rate_bps),
    cores = 4,
  }: {
    base?: Plan | null;
    splits?: NfSplit[];
    abilities?: SwitchAbilities;
    definition?: ChainDefinition;
    cores?: number;
  } = {},
): Plan {
  const chain: PlannedChain = { chain_id: 'p-1', version: 1, definition, ...(splits ? { splits } : {}) };
  const plan = makePlan({
    id: base ? 'after' : 'before',
    created_ms: 0,
    chains: [chain],
    descriptors: CATALOGUE,
    infrastructure: servers(cores),
    switches: new Map([['switch-1', abilities]]),
    base,
    budget: { steps: 50 },
  });
  expect(() => Plan.parse(plan)).not.toThrow();
  return plan;
}

const splitNode = ({ graph }: Plan) => graph.nodes.find((node) => node.kind === 'split');
const moduleOf = (plan: Plan) =>
  Object.values(plan.nodes).flatMap(({ modules = [] }) => modules.filter(({ id }) => id.endsWith('.split')));

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

  it('gets the ranges and keeps the flows that are asked', () => {
    const before = planned(6e9);
    const fw = nfInstances(before.graph).filter(({ node_id }) => node_id === 'fw');
    expect(fw).toHaveLength(2);
    const plan = planned(6e9, { base: before, splits: [{ node_id: 'fw', ranges: HALVES, keep_flows: KEEP }] });
    expect(plan.splits.find(({ node_id }) => node_id === 'fw')).toMatchObject({ at: 'engine', keep_flows: KEEP });
    const module = moduleOf(plan)[0] as { outputs: unknown[] };
    expect(module.outputs).toMatchObject([{ targets: HALVES.map((range) => ({ range })), keep_flows: KEEP }]);
  });

  it('that come by two edges is shared out by a split for each', () => {
    const rate_bps = 8e9;
    const definition = chainOf(
      { fw: 'firewall' },
      [
        ['in', 'fw', [['port.dst', 'is', 80]], rate_bps / 2],
        ['in', 'fw', [['port.dst', 'is', 443]], rate_bps / 2],
        ['fw', 'out'],
      ],
      { rate_bps },
    );
    const plan = planned(rate_bps, { definition });
    expect(plan.conflicts).toEqual([]);
    const splits = plan.graph.nodes.filter(({ kind }) => kind === 'split');
    expect(splits).toHaveLength(2);
    const instances = nfInstances(plan.graph);
    for (const { id } of splits)
      expect(plan.graph.edges.filter(({ from }) => from === id).map(({ to }) => to)).toEqual(
        instances.map((it) => it.id),
      );
    expect(moduleOf(plan)).toHaveLength(2);
    expect(plan.splits).toHaveLength(1);
    expect(plan.classes.map(({ mean_us }) => mean_us > 0)).toEqual([true, true]);
  });

  it('has a way for a flow through the split', () => {
    const { classes, reasons } = planned(6e9);
    expect(classes[0]!.way!.instances.map((id) => id.slice(0, 4))).toEqual(['p.fw', 'p.id']);
    expect(reasons.filter(({ decision }) => decision === 'no way')).toEqual([]);
  });

  it('is split by an engine where the switch can hash, but not match ranges', () => {
    const abilities: SwitchAbilities = {
      ...BLIND,
      hashes: [['ip.src', 'ip.dst', 'ip.proto', 'port.src', 'port.dst']],
      match: {
        ...BLIND.match,
        flow_id: { kind: 'exact', negation: false },
        split: { kind: 'exact', negation: false },
      },
    };
    expect(splitNode(planned(6e9, { abilities }))?.kind).toBe('split');
  });

  it('says that flows in progress lose their state when another shares them out', () => {
    const before = planned(6e9, { abilities: ASSUMED_ABILITIES });
    const after = planned(6e9, {
      base: before,
      abilities: ASSUMED_ABILITIES,
      splits: [{ node_id: 'fw', keep_flows: KEEP }],
    });
    expect([before, after].map(({ splits }) => splits.find(({ node_id }) => node_id === 'fw')!.at)).toEqual([
      'switch',
      'engine',
    ]);
    expect(after.problems).toContainEqual(
      expect.objectContaining({
        code: 'flow-state-lost',
        node: 'fw',
        message: expect.stringContaining('another hash'),
      }),
    );
    expect(planned(6e9, { base: before, abilities: ASSUMED_ABILITIES }).problems).toEqual([]);
  });

  it('has a placement that can be proven, with the traffic of the split', async () => {
    const plan = planned(9e9, { cores: 1 });
    const of = (those: readonly Quality[]) => those.find(({ part }) => part === 'placement')!;
    expect(of(plan.quality)).toMatchObject({ optimal: true, value: 18e9 });
    const loose = plan.quality.map((it) => ({ ...it, bound: 0, gap: 1, optimal: false }));
    const certified = { plan: { ...plan, quality: loose }, descriptors: CATALOGUE, infrastructure: servers(1) };
    const quality = await certifyPlan(certified, await testSolver(), unhurried(300_000));
    expect(of(quality!)).toMatchObject({ optimal: true, bound: 18e9 });
  });

  it('is shared out by the switch as soon as that can', () => {
    expect(splitNode(planned(6e9, { abilities: ASSUMED_ABILITIES }))).toBeUndefined();
    const kept = { abilities: ASSUMED_ABILITIES, splits: [{ node_id: 'fw', keep_flows: KEEP }] };
    expect(splitNode(planned(6e9, kept))?.kind).toBe('split');
    expect(splitNode(planned(1e8))).toBeUndefined();
  });
});
