import { CpuLimit, type Scaling, ScalingStrategy, sampleKey } from '@orrery/contract';
import { z } from 'zod';
import { ipv4Of, requireIpv4 } from '../address.js';
import type { Api } from '../api-caller.js';
import { observeCores, percentOf } from '../busy-cores.js';
import { isCarriedOut, requireFeasible } from '../carried-out.js';
import { highest, meanFrom, smoothed } from '../e2-split/balance.js';
import { meanLifetime, newFlows, receiver, seedOf, sender } from '../fields.js';
import { type FlowFigures, flowLoad, type RunningLoad } from '../flow-load.js';
import { freeNames, freeTraffic, hosts, nfs, runningTwin } from '../needs.js';
import { defineScenario, type Stage } from '../scenario.js';
import { historyOf, outlasting, valueAt } from '../series.js';
import { containers } from '../ssm/needs.js';
import { lengthOf, pointsOf, type Wave } from '../wave.js';
import { CHAIN, definitionOf, NF_KINDS, PACKET_BYTES, PART_OF_LIMIT, SCALED } from './chain.js';
import { costOf, meanGap, optimum, sumOf } from './optimum.js';

const PORT = 9741;
const CHANGE_S = 120;
const SMOOTH_S = 3;
/** Lifetimes after which as many flows end as begin. */
const SETTLED_LIFETIMES = 3;
/** An instance that is new gets only flows that are new: it takes a lifetime until the load is shared out. */
const RULES = {
  out: { utilization: 0.9, queue: 4096, for_s: 2 },
  in: { utilization: 0.75, queue: 512, for_s: 3 },
  cooldown_s: 5,
  max_instances: 8,
};
/** Published (E2 3.6.3), in Gbit/s. */
const PUBLISHED = { low: 7.2, high: 12.3 } as const;
const SOURCE = 'E2 3.6.3, Fig. 3.11';
/** Percent. While the load rises an instance may be missing for seconds; further below the optimum, its cost was not measured. */
const LEAST_GAP = -5;

const Parameters = z.object({
  from: sender('client-3'),
  to: receiver('web-1'),
  strategy: ScalingStrategy.exclude(['never'])
    .default('avoid')
    .meta({
      title: 'Flows in progress',
      titles: { avoid: 'Stay (migration avoidance)', migrate: 'Move with their state (strawman)' },
    }),
  scale: z.number().min(0.0005).max(0.1).default(0.001).meta({
    title: 'Scale of the load',
    description: 'share of the published load, which goes from 7.2 to 12.3 Gbit/s and back',
  }),
  cpu_limit: CpuLimit.min(0.02).default(0.05).meta({
    title: 'CPU limit',
    unit: 'of a core',
    description: 'of an instance of the VPN; one of the IDS has half of it',
  }),
  packet_us: z.int().min(20).max(1000).default(150).meta({
    title: 'Work of the VPN',
    unit: 'us',
    description: 'a packet: a stand-in that keeps its core busy so long',
  }),
  flows_per_s: newFlows(300),
  lifetime_s: meanLifetime(2, 30),
  hold_s: z
    .number()
    .min(10)
    .max(300)
    .default(30)
    .meta({ title: 'Steady load', unit: 's', description: 'at the bottom, and at the top' }),
  slope_s: z
    .number()
    .min(5)
    .max(300)
    .default(30)
    .meta({ title: 'Changing load', unit: 's', description: 'while it rises, and while it falls' }),
  seed: seedOf('flows'),
});
type Parameters = z.output<typeof Parameters>;
type Nf = (typeof SCALED)[number];

interface Memory {
  chain: string;
  load: RunningLoad;
  /** Since the start of the run: when policies were added, and the end of the wave. */
  watched_s: number;
  end_s: number;
  /** Cores for each bit/s while one instance ran. */
  cost: Record<Nf, number>;
  scalings: Scaling[];
  figures: FlowFigures;
  busyShare: number;
}

/** How long instances are watched, s. */
const observedS = (parameters: Parameters) => parameters.slope_s + lengthOf(waveOf(parameters));

const waveOf = ({ scale, hold_s, slope_s }: Parameters): Wave => ({
  low: PUBLISHED.low * 1e9 * scale,
  high: PUBLISHED.high * 1e9 * scale,
  low_s: hold_s,
  rise_s: slope_s,
  high_s: hold_s,
  fall_s: slope_s,
});

/** Numbers of instances that follow a load (E2 3.6.3, Figures 3.11 and 3.12). */
export const E2_LOAD_WAVE = defineScenario({
  id: 'e2-load-wave',
  title: 'Numbers of instances follow the load',
  summary:
    'Flows of published sizes and lifetimes, of which the total rises from 7.2 to 12.3 parts and falls again, pass an IDS and a stand-in for a VPN in containers that may each use a part of a core. A scaling policy adds and removes instances. Shows what they take of CPU and switch beside the least that would do.',
  source: 'E2 3.6.3, Figures 3.11 and 3.12',
  duration_s: 210,
  watch: 'topology',
  parameters: Parameters,
  faults: (parameters) => [
    ...(parameters.from === parameters.to
      ? [{ pointer: '/parameters/to', detail: 'must not be the sending host', code: 'same-host' }]
      : []),
    ...outlasting(parameters.hold_s > parameters.slope_s ? 'hold_s' : 'slope_s', observedS(parameters)),
  ],
  needs: ({ from, to, cpu_limit, packet_us, scale }) => [
    runningTwin(),
    nfs(...NF_KINDS),
    containers(),
    hosts(from, to),
    freeNames(CHAIN),
    freeTraffic(async (api) => {
      const address = await ipv4Of(api, to);
      return address
        ? [definitionOf({ from, address, port: PORT, rate_bps: PUBLISHED.low * 1e9 * scale, cpu_limit, packet_us })]
        : [];
    }),
  ],
  steps: (parameters) => {
    const memory = {} as Memory;
    return [
      { title: 'Deploy the chain with one instance of each NF', run: (stage) => prepare(stage, memory, parameters) },
      { title: 'Measure what single instances cost', run: (stage) => measure(stage, memory, parameters) },
      { title: 'Let the load rise and fall', run: (stage) => observe(stage, memory, parameters) },
      { title: 'Compare', run: (stage) => compare(stage, memory, parameters) },
    ];
  },
});

const since = ({ started_ms }: Stage) => (Date.now() - started_ms) / 1000;

async function prepare(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
  const { api, make, until } = stage;
  const { from, to, cpu_limit, packet_us, lifetime_s } = parameters;
  const address = await requireIpv4(api, to);
  const rate_bps = waveOf(parameters).low;
  memory.chain = await make('chain', definitionOf({ from, address, port: PORT, rate_bps, cpu_limit, packet_us }));
  const keep_flows = { capacity: 16_384, idle_timeout_s: Math.max(5, Math.ceil(lifetime_s)) };
  const splits = SCALED.map((node_id) => ({ node_id, instances: 1, keep_flows }));
  const chain_id = memory.chain;
  const implementations = SCALED.map((node_id) => ({ chain_id, node_id, on: 'container' as const }));
  const plan = await api.call('createPlan', { body: { chains: [{ chain_id, splits }], implementations } });
  requireFeasible(plan);
  const { id } = await api.call('createDeployment', { body: { plan_id: plan.id } });
  await until('the end of the deployment', CHANGE_S, async () => ((await isCarriedOut(api, id)) ? true : null));
}

/** Part of the least load that one instance carries without waiting for its CPU: then packets would come in batches, which cost less. */
const ALONE = 0.125;

/** Before anything follows the load. */
async function measure(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
  const { from, to, flows_per_s, lifetime_s, seed } = parameters;
  const wave = waveOf(parameters);
  const alone_s = SETTLED_LIFETIMES * lifetime_s + 10;
  memory.load = await flowLoad(stage, {
    id: CHAIN,
    from,
    to,
    port: PORT,
    settings: {
      flows_per_s,
      mean_lifetime_s: lifetime_s,
      distribution: 'benson-2010',
      packet_bytes: PACKET_BYTES,
      seed,
      wave: [
        { at_s: 0, rate_bps: ALONE * wave.low },
        { at_s: alone_s, rate_bps: ALONE * wave.low },
        ...pointsOf(wave, alone_s + parameters.slope_s),
      ],
    },
  });
  const { api, started_ms } = stage;
  await stage.wait(alone_s, 'single instances carry an eighth of the least load');
  const cost = await Promise.all(
    SCALED.map(async (nf): Promise<[Nf, number]> => {
      const mean = async (metric: 'cpu' | 'bps') =>
        meanFrom(await historyOf(api, sampleKey('nf', `${CHAIN}.${nf}`, metric), started_ms), since(stage) - 8);
      return [nf, costOf(nf, await mean('cpu'), await mean('bps'), PART_OF_LIMIT[nf] * parameters.cpu_limit)];
    }),
  );
  memory.cost = Object.fromEntries(cost) as Memory['cost'];
}

async function observe(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
  const { api, make } = stage;
  const { strategy } = parameters;
  for (const node_id of SCALED)
    await make('scaling-policy', {
      nf: { chain_id: memory.chain, node_id },
      ...RULES,
      strategy,
    });
  memory.watched_s = since(stage);
  const busyShare = observeCores();
  await stage.wait(observedS(parameters), 'instances come and go with the load');
  memory.busyShare = busyShare();
  memory.end_s = since(stage);
  const { items } = await api.call('listScalings', { query: { chain_id: memory.chain, limit: 500 } });
  memory.scalings = items;
  memory.figures = await memory.load.figures();
}

/** Number of instances of an NF over time, from the changes that came about. */
function instancesOf(memory: Memory, nf: Nf, startedMs: number): [s: number, count: number][] {
  const changes = memory.scalings
    .filter((it) => it.nf.node_id === nf && it.state === 'completed' && it.ended_ms !== null)
    .sort((a, b) => a.ended_ms! - b.ended_ms!);
  return [[0, 1], ...changes.map((it): [number, number] => [(it.ended_ms! - startedMs) / 1000, it.to])];
}

/** What ends outside of switches send into them, in all, bit/s. */
async function intoSwitches(api: Api, startedMs: number): Promise<[number, number][]> {
  const { switches, links } = await api.call('getInfrastructure');
  const isSwitch = (node: string) => switches.some(({ id }) => id === node);
  const keys = links.flatMap(({ id, a, b }) => {
    if (isSwitch(a.node) === isSwitch(b.node)) return [];
    return [sampleKey('link', id, isSwitch(b.node) ? 'a_to_b_bps' : 'b_to_a_bps')];
  });
  const all = await Promise.all(keys.map((key) => historyOf(api, key, startedMs)));
  return sumOf(all.map((points) => smoothed(points, 1)));
}

async function compare(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
  const { api, started_ms } = stage;
  const { cpu_limit, strategy, scale } = parameters;
  const { watched_s, end_s, scalings, figures, cost } = memory;
  const within = <T extends readonly [number, number]>(points: readonly T[]) =>
    points.filter(([s]) => s >= watched_s && s <= end_s);
  const load = within(smoothed(await historyOf(api, sampleKey('chain', memory.chain, 'bps'), started_ms), SMOOTH_S));
  const counts = SCALED.map((nf) => instancesOf(memory, nf, started_ms));
  const limits = SCALED.map((nf) => PART_OF_LIMIT[nf] * cpu_limit);
  const runningAt = (nf: number, at: number) => valueAt(counts[nf]!, at) ?? 1;
  const ofAll = (of: (nf: Nf, index: number) => number) => SCALED.map(of).reduce((sum, it) => sum + it, 0);
  const total = (at: number) => ofAll((_, n) => runningAt(n, at));
  const used: [number, number][] = load.map(([s]) => [s, ofAll((_, n) => limits[n]! * runningAt(n, s))]);
  const least: [number, number][] = load.map(([s, bps]) => [
    s,
    ofAll((nf, n) => limits[n]! * optimum(bps, cost[nf], limits[n]!)),
  ]);
  const switched = within(smoothed(await intoSwitches(api, started_ms), SMOOTH_S));
  // Into the fabric and, behind the chain, once more: no placement takes less.
  const input: [number, number][] = load.map(([s, bps]) => [s, 2 * bps]);
  // Flows of the VPN have nothing to lose.
  const displaced = await historyOf(api, sampleKey('nf', `${CHAIN}.ids`, 'displaced_per_s'), started_ms);
  const [cpuGap, switchGap] = [meanGap(used, least, watched_s), meanGap(switched, input, watched_s)];
  const [outs, ins] = [scalings.filter((it) => it.to > it.from), scalings.filter((it) => it.to < it.from)];
  const cores = `cores were busy for ${percentOf(memory.busyShare)} of the time`;
  const { sent } = figures.generator;
  const { lost } = figures.sink;

  stage.figure({
    name: 'CPU above the optimum, mean',
    unit: '%',
    published: 22.7,
    here: percent(cpuGap),
    source: SOURCE,
    bar: { least: LEAST_GAP, most: 60 },
    note: `beside the fewest instances that the load needs, at the cost measured alone; each is a large step here, where up to 56 are published; ${cores}`,
  });
  stage.figure({
    name: 'Switch bandwidth above the input, mean',
    unit: '%',
    published: 16.4,
    here: percent(switchGap),
    source: SOURCE,
    note: 'bits that hosts and servers send into the switch, beside two times the input: to the chain, and behind it',
  });
  stage.figure({
    name: 'Most instances of both NFs',
    unit: 'instances',
    published: 56,
    here: highest(load.map(([s]) => [s, total(s)])),
    source: SOURCE,
    bar: { least: 3, most: null },
    note: `load ${scale} of the published one, a VPN has ${cpu_limit} of a core; published: NAT, firewall, IDS and VPN, here: IDS and a stand-in for a VPN behind a firewall`,
  });
  stage.figure({
    name: 'Scaled out',
    unit: 'times',
    published: null,
    here: outs.filter(({ state }) => state === 'completed').length,
    bar: { least: 1, most: null },
  });
  stage.figure({
    name: 'Scaled in',
    unit: 'times',
    published: null,
    here: ins.filter(({ state }) => state === 'completed' || state === 'running').length,
    bar: { least: 1, most: null },
    note: 'those that wait for flows to end when the wave is over count, too',
  });
  stage.figure({
    name: 'Flows that lost their IDS, at most',
    unit: 'flows/s',
    published: null,
    here: highest(displaced),
    bar: strategy === 'avoid' ? { least: 0, most: 0 } : null,
  });
  stage.figure({
    name: 'Packets lost',
    unit: '%',
    published: null,
    here: sent && typeof lost === 'number' ? (100 * lost) / sent : null,
    bar: { least: null, most: 1 },
    note: `of ${sent ?? 'unknown'} sent, counted at the receiving host by flow; an instance that is overloaded until the next one runs drops some`,
  });
  stage.figure({
    name: 'Latency of the chain, p99 of seconds of the p50',
    unit: 'us',
    published: null,
    here: p99(within(await historyOf(api, sampleKey('chain', memory.chain, 'latency_p50_us'), started_ms))),
  });
  const x = { label: 'time since the start', unit: 's' };
  const series = (name: string, points: readonly (readonly [number, number])[], by = 1) => ({
    name,
    published: false,
    modelled: false,
    points: points.map(([s, value]): [number, number] => [s, value * by]),
  });
  stage.plot({
    title: 'Load of the chain',
    source: '',
    x,
    y: { label: 'rate', unit: 'Mbit/s' },
    series: [series('input', load, 1e-6), series('into the switch, half', switched, 0.5e-6)],
  });
  stage.plot({
    title: 'CPU that instances may use',
    source: '',
    x,
    y: { label: 'cores', unit: '' },
    series: [series('scaled by policy', used), series('optimum', least)],
  });
  stage.plot({
    title: 'Instances',
    source: '',
    x,
    y: { label: 'instances', unit: '' },
    series: SCALED.map((nf, n) =>
      series(
        nf,
        load.map(([s]) => [s, runningAt(n, s)]),
      ),
    ),
  });
}

function p99(points: readonly (readonly [number, number])[]): number | null {
  const values = points.map(([, value]) => value).sort((a, b) => a - b);
  return values[Math.floor(0.99 * (values.length - 1))] ?? null;
}

const percent = (share: number | null) => (share === null ? null : 100 * share);
