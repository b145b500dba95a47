import { type ChainDefinition, isAtSwitch, nfInstances, type PlannedChain } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import type { PlanInput } from '../plan/input.js';
import { makePlan } from '../plan/make-plan.js';
import { latencyOf } from '../slo/latency.js';
import { board, withBoard, withBoardAtSwitch } from '../testing/boards.js';
import { chainOf } from '../testing/chains.js';
import { CATALOGUE, descriptor } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';

const HEAVY = withBoard(descriptor('heavy', { cycles: 20_000, scaling: { max_instances: 1 } }), 100);
const NFS = [...CATALOGUE.map((nf) => withBoard(nf, 100)), HEAVY, descriptor('slow', { cycles: 4000 })];
const RACK = rack({ servers: 3, cores: 4, ghz: 2, nic_bps: 1e11, link_bps: 1e11 });
const INFRASTRUCTURE = withBoardAtSwitch(
  { ...RACK, boards: [board('beside', 'server-1', { slots: 1 })] },
  board('hung', 'server-2', { slots: 2 }),
  'switch-1',
);
const HUNG = { on: 'board', load: 'partial', policy: 'hold', slot: { board: 'hung', slot: 0 } } as const;

type Definition = Parameters<typeof chainOf>;
const chain = (nfs: Definition[0], edges: Definition[1], more: Partial<PlannedChain> = {}, rate_bps = 1e9) =>
  ({
    chain_id: 'p-1',
    version: 1,
    definition: chainOf(nfs, edges, { rate_bps }),
    ...more,
  }) satisfies PlannedChain;
const LINE: Definition[1] = [
  ['in', 'fw'],
  ['fw', 'mon'],
  ['mon', 'out'],
];
const FIREWALLED = chain({ fw: 'firewall', mon: 'monitor' }, LINE);

function planOf(one: PlannedChain, more: Partial<PlanInput> = {}) {
  const input = { id: 'plan', created_ms: 0, descriptors: NFS, infrastructure: INFRASTRUCTURE, container_servers: [] };
  return makePlan({ ...input, chains: [one], base: null, budget: { steps: 50 }, ...more });
}
const asked = (node_id: string) => ({ implementations: [{ chain_id: 'p-1', node_id, ...HUNG }] });

describe('an NF in a slot at a switch', () => {
  const plan = planOf(FIREWALLED, asked('fw'));
  const inSlot = nfInstances(plan.graph).find(isAtSwitch)!;

  it('takes nothing of a core, and the switch leads its packets there and on', () => {
    expect(plan.feasible).toBe(true);
    expect(inSlot).toMatchObject({ id: 'p.fw.hung-0', server: 'server-2', core_share: 0 });
    const [classify] = plan.fabric.rules.filter(({ kind }) => kind === 'classify');
    expect(classify!.targets.map(({ server }) => server)).toEqual(['hung.0']);
    const monitor = nfInstances(plan.graph).find(({ node_id }) => node_id === 'mon')!;
    const onward = plan.fabric.rules.find(({ from_servers }) => from_servers.includes('hung.0'))!;
    expect(onward.targets.map(({ server }) => server)).toEqual([monitor.server]);
    expect(plan.cost!.cross_traffic_bps).toBe(1e9);
  });

  it('is explained by what it saves and costs', () => {
    const reason = plan.reasons.find(({ part, subject }) => part === 'infrastructure' && subject === 'p.fw')!;
    expect(reason.decision).toBe('board on hung slot 0');
    expect(reason.because).toContain('no core forwards to it, where software needs 1000 cycles per packet');
    expect(reason.because).toContain('cross the fabric once more');
    expect(reason.because).toContain('before the first engine');
  });

  it('adds to the latency only behind the first engine, where that is measured from', () => {
    const drawn: Definition[1] = [
      ['in', 'mon'],
      ['mon', 'fw'],
      ['fw', 'end'],
      ['end', 'out'],
    ];
    const later = planOf(chain({ mon: 'monitor', fw: 'firewall', end: 'monitor' }, drawn), asked('fw'));
    const [first, alone, behind] = [
      plan,
      planOf(chain({ mon: 'monitor' }, LINE.slice(2).concat([['in', 'mon']]))),
      later,
    ];
    const about = (it: typeof plan) => ({ ...it, chains: it.chains, descriptors: NFS, infrastructure: INFRASTRUCTURE });
    const least = (it: typeof plan) => latencyOf(about(it), 'p-1').least_us;
    expect(least(first)).toBeCloseTo(least(alone), 9);
    expect(least(behind)).toBeGreaterThan(least(alone) + board('x', 'y').latency_us);
  });

  it('stays there, and goes to software when the chain changes so that a slot cannot run it', () => {
    const again = planOf(FIREWALLED, { base: plan });
    expect(nfInstances(again.graph).find(isAtSwitch)!.id).toBe(inSlot.id);
    const ended = chain({ fw: 'firewall' }, [
      ['in', 'fw'],
      ['fw', 'out'],
    ]);
    const moved = planOf({ ...ended, version: 2 }, { base: plan });
    expect(nfInstances(moved.graph).map(({ driver }) => driver)).toEqual(['engine']);
    const why = moved.reasons.find(({ part, subject }) => part === 'infrastructure' && subject === 'p.fw')!.because;
    expect(why).toContain('hung hangs on a switch: firewall would be the last NF');
  });
});

it('gets a split by an engine behind it where its packets are for several instances', () => {
  const plan = planOf(chain({ fw: 'firewall', mon: 'slow' }, LINE, {}, 8e9), asked('fw'));
  expect(plan.conflicts).toEqual([]);
  const splits = plan.graph.nodes.filter(({ kind }) => kind === 'split');
  expect(splits).toHaveLength(1);
  const because = plan.reasons.find(({ part, subject }) => part === 'sizing' && subject === 'p.mon')!.because;
  expect(because).toContain('hung slot 0 cannot do that, so all packets go to one engine first');
});

describe('refuses a slot at a switch', () => {
  const ids: Record<string, string> = { ids: 'ids', mon: 'monitor', other: 'monitor' };
  const branches = (filter: ChainDefinition['edges'][number]['filter'][number]['attribute'], value: string | number) =>
    [
      ['in', 'ids'],
      ['ids', 'mon', [[filter, 'is', value]]],
      ['ids', 'other', [[filter, 'is-not', value]]],
      ['mon', 'out'],
      ['other', 'out'],
    ] as Definition[1];
  const end: Definition[1] = [
    ['in', 'fw'],
    ['fw', 'out'],
  ];
  const natted: Definition[1] = [
    ['in', 'nat'],
    ['nat', 'mon'],
    ['mon', 'out'],
  ];
  it.each([
    ['the last NF', chain({ fw: 'firewall' }, end), 'fw', 'would be the last NF'],
    ['an NF to which replies come', chain({ nat: 'nat', mon: 'monitor' }, natted), 'nat', 'replies come back to'],
    ['branches by header fields', chain(ids, branches('port.src', 80)), 'ids', 'and not by port.src'],
    [
      'chains in parallel',
      chain({ fw: 'firewall', mon: 'monitor' }, LINE, { execution: 'parallel' }),
      'fw',
      'parallel',
    ],
    ['planned schedules', chain({ fw: 'firewall', mon: 'monitor' }, LINE, { schedule: 'planned' }), 'fw', 'schedule'],
  ])('to %s', (_, one, node, words) => {
    const { feasible, problems } = planOf(one, asked(node));
    expect(feasible).toBe(false);
    expect(problems[0]).toMatchObject({ pointer: '/implementations/0/slot/board', code: 'bad-implementation' });
    expect(problems[0]!.message).toContain('hung hangs on a switch: ');
    expect(problems[0]!.message).toContain(words);
  });

  it('but takes branches by what the module finds', () => {
    const plan = planOf(chain(ids, branches('ids.verdict', 'safe')), asked('ids'));
    expect(plan.feasible).toBe(true);
    expect(nfInstances(plan.graph).some(isAtSwitch)).toBe(true);
  });
});

describe('an NF that software cannot carry', () => {
  const heavy = (last: Definition[1]) => chain({ heavy: 'heavy', mon: 'monitor' }, last, {}, 1.5e9);
  const first: Definition[1] = [
    ['in', 'heavy'],
    ['heavy', 'mon'],
    ['mon', 'out'],
  ];
  const last: Definition[1] = [
    ['in', 'mon'],
    ['mon', 'heavy'],
    ['heavy', 'out'],
  ];
  const slotOf = (plan: ReturnType<typeof planOf>) => nfInstances(plan.graph).find(({ board }) => board)?.board;
  const without = (id: string) => ({
    infrastructure: { ...INFRASTRUCTURE, boards: INFRASTRUCTURE.boards.filter((it) => it.id !== id) },
  });

  it('takes the tighter fit beside an engine, or a slot at the switch where there is no other', () => {
    expect(slotOf(planOf(heavy(first)))).toMatchObject({ board: 'beside', slot: 0 });
    expect(slotOf(planOf(heavy(first), without('beside')))).toMatchObject({ board: 'hung', attached: 'switch' });
  });

  it('gets none at the switch where that cannot run it', () => {
    const { feasible } = planOf(heavy(last), without('beside'));
    expect(feasible).toBe(false);
    expect(slotOf(planOf(heavy(last)))).toMatchObject({ board: 'beside' });
  });
});

it('uses no slot with a port without a link to a switch of the fabric', () => {
  const links = INFRASTRUCTURE.links.filter(({ id }) => id !== 'hung-far0');
  const { feasible, conflicts } = planOf(FIREWALLED, { infrastructure: { ...INFRASTRUCTURE, links }, ...asked('fw') });
  expect(feasible).toBe(false);
  expect(conflicts[0]).toMatchObject({ constraint: 'implementation', where: 'hung slot 0' });
});
