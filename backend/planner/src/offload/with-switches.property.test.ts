import { type Infrastructure, Plan, type PlannedChain, type SwitchAbilities } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ASSUMED_ABILITIES } from '../lower/switch/abilities.js';
import { lowerFabric } from '../lower/switch/lower-fabric.js';
import { certifyPlan } from '../plan/certify-plan.js';
import type { PlanInput } from '../plan/input.js';
import { makePlan } from '../plan/make-plan.js';
import { chainOf } from '../testing/chains.js';
import { unhurried } from '../testing/clock.js';
import { descriptor } from '../testing/descriptors.js';
import { testSolver } from '../testing/highs.js';
import { rack } from '../testing/infrastructure.js';
import { carry, type Frame } from '../testing/switch.js';

const CATALOGUE = [
  descriptor('firewall', {
    on_switch: { program: 'filter' },
    actions: { reads: [], writes: [], adds: [], removes: [], may_drop: true },
    default_config: { default_action: 'allow', rules: [] },
  }),
  descriptor('monitor', { on_switch: { program: 'count', lacks: 'It counts no single flows there.' } }),
  descriptor('limiter', {
    on_switch: { program: 'limit' },
    default_config: { rate_bps: 1_000_000, burst_bytes: 10_000 },
    scaling: { max_instances: 1 },
  }),
  descriptor('swapper', { on_switch: { program: 'count', requires: { swap: false } }, default_config: { swap: true } }),
  descriptor('ids'),
];

const exact = { kind: 'exact', negation: false } as const;
const ABLE: SwitchAbilities = {
  ...ASSUMED_ABILITIES,
  match: { ...ASSUMED_ABILITIES.match, nfs: exact, 'ip.later': exact },
  meters: true,
};

function built(table_entries: number): Infrastructure {
  const plain = rack({ table_entries });
  return { ...plain, switches: plain.switches.map((one) => ({ ...one, actions: ['forward', 'meter'] })) };
}

const address = fc.constantFrom('10.0.0.1', '10.0.0.2', '10.0.0.3', '198.51.100.7');
const prefix = fc.tuple(address, fc.constantFrom('', '/32', '/31', '/24', '/0')).map((parts) => parts.join(''));
const ports = fc.constantFrom<string | number>(80, '80', '0-79', '81-65535', '22-443');
const rule = fc.record(
  {
    action: fc.constantFrom('allow', 'deny'),
    src: fc.oneof(prefix, fc.constant('2001:db8::/32')),
    dst: prefix,
    proto: fc.constantFrom<string | number>('tcp', 'udp', 'icmp', 6, 47),
    src_port: ports,
    dst_port: ports,
  },
  { requiredKeys: ['action'] },
);
const config = fc.record({
  default_action: fc.constantFrom('allow', 'deny'),
  rules: fc.array(rule, { maxLength: 6 }),
});
interface Rule {
  readonly action: string;
  readonly src?: string | undefined;
  readonly dst?: string | undefined;
  readonly proto?: string | number | undefined;
  readonly src_port?: string | number | undefined;
  readonly dst_port?: string | number | undefined;
}

const packet = fc.record({
  dst: address,
  proto: fc.constantFrom(1, 6, 17, 47),
  sport: fc.constantFrom(0, 22, 79, 80, 81, 443, 65535),
  dport: fc.constantFrom(0, 22, 79, 80, 81, 443, 65535),
  part: fc.constantFrom<'whole' | 'first' | 'later'>('whole', 'whole', 'first', 'later'),
});
type Packet = typeof packet extends fc.Arbitrary<infer T> ? T : never;

const SOURCE = '10.0.0.1';
const number = (text: string) => text.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0);

/** As the firewall of the engine has it (agents/nfs/firewall). */
function passes({ default_action, rules }: { default_action: string; rules: readonly Rule[] }, one: Packet): boolean {
  const within = (value: string, of: string | undefined) => {
    if (of === undefined) return true;
    if (of.includes(':')) return false;
    const [at, bits = '32'] = of.split('/');
    const size = 2 ** (32 - Number(bits));
    return Math.floor(number(value) / size) === Math.floor(number(at!) / size);
  };
  const hasPorts = (one.proto === 6 || one.proto === 17) && one.part !== 'later';
  const between = (value: number, of: string | number | undefined) => {
    if (of === undefined) return true;
    const [lo, hi = lo] = String(of).split('-').map(Number);
    return hasPorts && value >= lo! && value <= hi!;
  };
  const named: Record<string, number> = { tcp: 6, udp: 17, icmp: 1 };
  const found = rules.find(
    (it) =>
      within(SOURCE, it.src) &&
      within(one.dst, it.dst) &&
      (it.proto === undefined || (named[it.proto] ?? it.proto) === one.proto) &&
      between(one.sport, it.src_port) &&
      between(one.dport, it.dst_port),
  );
  return (found?.action ?? default_action) === 'allow';
}

function frameOf({ dst, proto, sport, dport, part }: Packet): Frame {
  const hasPorts = (proto === 6 || proto === 17) && part !== 'later';
  return {
    source: '02:00:00:00:00:01',
    ttl: 64,
    fields: {
      'eth.dst': 0x020e_ffff_fffe,
      'eth.type': 0x0800,
      'ip.src': number(SOURCE),
      'ip.dst': number(dst),
      'ip.proto': proto,
      'ip.fragment': part === 'whole' ? 0 : 1,
      'ip.later': part === 'later' ? 1 : 0,
      ...(hasPorts ? { 'port.src': sport, 'port.dst': dport } : {}),
    },
  };
}

const NAMES = ['firewall', 'monitor', 'limiter', 'swapper', 'ids'];
const lineOf = (
  name: string,
  from: string,
  nfs: readonly string[],
  rules: Record<string, unknown>,
  rate_bps: number,
) => {
  const ids = nfs.map((nf, i) => `${nf}-${i}`);
  const ends = ['in', ...ids, 'out'];
  return chainOf(
    Object.fromEntries(ids.map((id, i) => [id, nfs[i]!])),
    ends.slice(1).map((id, i) => [ends[i]!, id]),
    {
      name,
      from: [from],
      rate_bps,
      config: Object.fromEntries(ids.flatMap((id, i) => (nfs[i] === 'firewall' ? [[id, rules]] : []))),
    },
  );
};
const drawnChains = fc.tuple(
  fc.record({
    nfs: fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 6 }),
    config,
    rate: fc.constantFrom(1e6, 5e6),
  }),
  fc.record({
    nfs: fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 4 }),
    config,
    rate: fc.constantFrom(2e6, 9e6),
  }),
);

type Offload = PlannedChain['offload'];
function planned(
  drawn: typeof drawnChains extends fc.Arbitrary<infer T> ? T : never,
  offload?: Offload,
): PlannedChain[] {
  return drawn.map(({ nfs, config: rules, rate }, i) => ({
    chain_id: `id-${i}`,
    version: 1,
    definition: lineOf(`c${i}`, `client-${i + 1}`, nfs, rules, rate),
    ...(offload ? { offload } : {}),
  }));
}
const inputOf = (chains: PlannedChain[], infrastructure: Infrastructure, rest: Partial<PlanInput> = {}): PlanInput => ({
  id: 'plan-1',
  created_ms: 0,
  chains,
  descriptors: CATALOGUE,
  infrastructure,
  switches: new Map([['switch-1', ABLE]]),
  base: null,
  budget: { steps: 100 },
  ...rest,
});

describe('chains whose first NFs run on switches', () => {
  it('drop on the switch what the firewall of the engine drops, and send the rest on', () => {
    fc.assert(
      fc.property(config, fc.array(packet, { minLength: 1, maxLength: 20 }), (rules, packets) => {
        const definition = lineOf('c', 'client-1', ['firewall', 'monitor', 'ids'], rules, 1e6);
        const chains: PlannedChain[] = [{ chain_id: 'id', version: 1, definition, offload: 'where-possible' }];
        const infrastructure = built(4000);
        const made = makePlan(inputOf(chains, infrastructure));
        expect(made.on_switches?.map(({ id }) => id)).toEqual(['c.firewall-0.switch-1', 'c.monitor-1.switch-1']);
        const { switches } = lowerFabric(infrastructure, new Map([['switch-1', ABLE]]), made.fabric.rules);
        for (const one of packets) {
          const arrived = carry(switches, infrastructure, 'client-1', frameOf(one));
          expect(arrived?.node ?? null).toBe(passes(rules, one) ? 'server-1' : null);
        }
      }),
      { numRuns: 150, seed: 11 },
    );
  });

  it('never need more entries or other abilities than a switch has, and are what the contract says', () => {
    let took = 0;
    let gaveBack = 0;
    fc.assert(
      fc.property(
        drawnChains,
        fc.integer({ min: 16, max: 70 }),
        fc.constantFrom(ABLE, { ...ABLE, meters: false }, { ...ABLE, match: ASSUMED_ABILITIES.match }),
        (drawn, entries, abilities) => {
          const infrastructure = built(entries);
          const switches = new Map([['switch-1', abilities]]);
          const made = makePlan(inputOf(planned(drawn, 'where-possible'), infrastructure, { switches }));
          const off = makePlan(inputOf(planned(drawn), infrastructure, { switches }));
          expect(Plan.parse(made)).toEqual(made);
          // What fits without NFs on switches also fits when they are asked for.
          if (off.feasible) expect(made.feasible).toBe(true);
          if (!made.feasible) return;
          for (const { most_entries, available } of made.tables) expect(most_entries).toBeLessThanOrEqual(available);
          const lowered = lowerFabric(infrastructure, switches, made.fabric.rules);
          expect(lowered.conflicts).toEqual([]);
          expect(lowered.tables[0]!.entries).toBe(made.tables[0]!.entries);
          const held = [...lowered.switches.values()].flatMap((spec) => spec.entries);
          for (const one of made.on_switches ?? []) {
            expect(held.filter(({ nf }) => nf?.instance_id === one.id)).toHaveLength(one.entries);
            expect(made.graph.nodes.some((node) => node.kind === 'nf' && node.pgraph_node === one.pgraph_node)).toBe(
              false,
            );
          }
          took += made.on_switches?.length ?? 0;
          gaveBack += made.reasons.filter(({ part, constraint }) => part === 'offload' && constraint).length;
          // Every NF says where it runs and why.
          const nfs = made.chains.flatMap(({ definition }) =>
            definition.nodes.flatMap((node) => (node.kind === 'nf' ? [`${definition.name}.${node.id}`] : [])),
          );
          const told = made.reasons.filter(({ part }) => part === 'offload').map(({ subject }) => subject);
          expect(told.toSorted()).toEqual(nfs.toSorted());
        },
      ),
      { numRuns: 200, seed: 12 },
    );
    expect(took).toBeGreaterThan(50);
    expect(gaveBack).toBeGreaterThan(20);
  });

  it('are planned as ever where switches run none', () => {
    fc.assert(
      fc.property(drawnChains, (drawn) => {
        const plain = makePlan(inputOf(planned(drawn), built(4000)));
        const never = makePlan(inputOf(planned(drawn, 'never'), built(4000)));
        expect(plain).not.toHaveProperty('on_switches');
        expect(JSON.stringify({ ...never, chains: [] })).toBe(JSON.stringify({ ...plain, chains: [] }));
      }),
      { numRuns: 50, seed: 13 },
    );
  });

  it('go back to servers when a chain with more traffic needs the entries, and the plan says why', () => {
    const rules = {
      default_action: 'deny',
      rules: Array.from({ length: 30 }, () => ({ action: 'allow', dst: '10.0.0.2' })),
    };
    const definition = lineOf('c', 'client-1', ['firewall', 'ids'], rules, 1e6);
    const chains: PlannedChain[] = [{ chain_id: 'id', version: 1, definition, offload: 'where-possible' }];
    const on = makePlan(inputOf(chains, built(70)));
    expect(on.on_switches).toMatchObject([{ id: 'c.firewall-0.switch-1', entries: 31, switch: 'switch-1' }]);
    expect(on.graph.nodes.flatMap((node) => (node.kind === 'nf' ? [node.node_id] : []))).toEqual(['ids-1']);
    expect(on.classes).toMatchObject([{ id: 'c.e0/e1/e2', edges: ['e0', 'e1', 'e2'], nodes: ['firewall-0', 'ids-1'] }]);
    const larger = lineOf('d', 'client-2', ['firewall', 'ids'], rules, 2e6);
    const both = [...chains, { chain_id: 'other', version: 1, definition: larger, offload: 'where-possible' as const }];
    const back = makePlan(inputOf(both, built(70), { base: on, id: 'plan-2' }));
    expect(back.feasible).toBe(true);
    expect(back.on_switches?.map(({ id }) => id)).toEqual(['d.firewall-0.switch-1']);
    expect(back.diff.removed).toEqual(['c.firewall-0.switch-1']);
    expect(back.diff.added).toEqual(expect.arrayContaining(['c.firewall-0.0', 'd.firewall-0.switch-1']));
    expect(back.reasons.find(({ part, subject }) => part === 'offload' && subject === 'c.firewall-0')).toMatchObject({
      decision: 'stays on servers',
      constraint: { constraint: 'switch-table', where: 'switch-1', unit: 'entries' },
    });
  });

  it('leave a table that was made too small: what is there already is no obstacle, one entry more is', () => {
    const rules = {
      default_action: 'deny',
      rules: Array.from({ length: 30 }, (_, i) => ({ action: 'allow', dst: `10.0.0.${i + 2}` })),
    };
    const definition = lineOf('c', 'client-1', ['firewall', 'ids'], rules, 1e6);
    const chains: PlannedChain[] = [{ chain_id: 'id', version: 1, definition, offload: 'where-possible' }];
    const on = makePlan(inputOf(chains, built(4000)));
    const held = on.tables[0]!.entries;
    const gone = makePlan(inputOf([], built(held - 1), { base: on, id: 'plan-2' }));
    expect(gone).toMatchObject({ feasible: true, tables: [{ most_entries: held, available: held - 1 }] });
    const never = [{ ...chains[0]!, offload: 'never' as const }];
    const moved = makePlan(inputOf(never, built(held - 1), { base: on, id: 'plan-2' }));
    expect(moved).toMatchObject({ feasible: true, tables: [{ most_entries: held, available: held - 1 }] });
    const other = {
      chain_id: 'other',
      version: 1,
      definition: lineOf('d', 'client-2', ['ids', 'monitor', 'ids'], {}, 12e9),
    };
    const more = [...never, { ...other, offload: 'never' as const }];
    const larger = makePlan(inputOf(more, built(4000), { base: on, id: 'plan-2' }));
    expect(larger.conflicts).toEqual([]);
    const [{ most_entries }] = larger.tables as [Plan['tables'][number]];
    expect(most_entries).toBeGreaterThan(held);
    const tight = makePlan(inputOf(more, built(most_entries - 1), { base: on, id: 'plan-2' }));
    expect(tight.conflicts).toEqual([
      {
        constraint: 'switch-table',
        needed: most_entries,
        available: most_entries - 1,
        unit: 'entries',
        where: 'switch-1',
        meanwhile: true,
      },
    ]);
  });

  it('stay on servers with more rules than a table could ever hold, which are counted and not made', () => {
    const mask = { kind: 'mask', negation: false } as const;
    const match = { ...ABLE.match, 'port.src': mask, 'port.dst': mask };
    const rules = {
      default_action: 'allow',
      rules: Array.from({ length: 4096 }, () => ({ action: 'deny', src_port: '1-65534', dst_port: '1-65534' })),
    };
    const definition = lineOf('c', 'client-1', ['firewall', 'ids'], rules, 1e6);
    const chains: PlannedChain[] = [{ chain_id: 'id', version: 1, definition, offload: 'where-possible' }];
    const plan = makePlan(inputOf(chains, built(4000), { switches: new Map([['switch-1', { ...ABLE, match }]]) }));
    expect(plan.feasible).toBe(true);
    expect(plan.on_switches ?? []).toEqual([]);
    // 30 x 30 masks for each of TCP and UDP, and the entry for what no rule holds for.
    const needed = 4096 * 1800 + 1;
    expect(plan.reasons.find(({ part, subject }) => part === 'offload' && subject === 'c.firewall-0')).toMatchObject({
      decision: 'stays on servers',
      constraint: { constraint: 'switch-table', where: 'switch-1', needed },
    });
  });

  it('are certified as they were planned', async () => {
    const definition = lineOf('c', 'client-1', ['firewall', 'monitor', 'ids', 'ids'], {}, 1e6);
    const chains: PlannedChain[] = [{ chain_id: 'id', version: 1, definition, offload: 'where-possible' }];
    const infrastructure = built(4000);
    const plan = makePlan(inputOf(chains, infrastructure));
    expect(plan.on_switches).toHaveLength(2);
    const found = await certifyPlan(
      { plan, descriptors: CATALOGUE, infrastructure },
      await testSolver(),
      unhurried(20_000),
    );
    expect(found?.map(({ subject }) => subject)).toEqual(plan.quality.map(({ subject }) => subject));
    expect(plan.quality.map(({ subject }) => subject)).toContain('c.e0/e1/e2/e3/e4');
  });
});
