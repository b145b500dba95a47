import { Name, nfInstances, type Scaling, type Split, sampleKey } from '@orrery/contract';
import { z } from 'zod';
import { ipv4Of, requireIpv4 } from '../address.js';
import { observeCores, percentOf } from '../busy-cores.js';
import { isCarriedOut } from '../carried-out.js';
import { type FlowFigures, flowLoad, type RunningLoad } from '../flow-load.js';
import { freeNames, freeTraffic, hosts, nfs, runningTwin } from '../needs.js';
import { defineScenario, type Stage } from '../scenario.js';
import { historyOf } from '../series.js';
import { imbalance, meanFrom, settledAt, smoothed } from './balance.js';
import { CHAIN, definitionOf, NF_KINDS, SPLIT_NF } from './chain.js';

const PORT = 9731;
/** Lifetimes after which as many flows end as begin. */
const SETTLED_LIFETIMES = 3;
const CHANGE_S = 90;
const SMOOTH_S = 2;
/** Single large flows come and go within it. */
const EVEN_S = 5;
/** Published (E2 3.6.2): below 10 % once converged. */
const BALANCED = 0.1;
/** Part of the time after the change that counts as converged. */
const TAIL = 0.4;

const Parameters = z.object({
  from: Name.default('client-3').describe('sending host'),
  to: Name.default('web-1').describe('receiving host'),
  flows: z
    .enum(['keep', 'migrate'])
    .default('keep')
    .describe('keep: migration avoidance; migrate: the strawman that always migrates'),
  flows_per_s: z.number().min(1).max(2000).default(200).describe('new flows per second (published: 2,000)'),
  lifetime_s: z.number().min(0.5).max(60).default(5).describe('mean lifetime of a flow'),
  rate_mbps: z.number().min(0.1).max(1000).default(12).describe('rate of all flows together (published: 1,000)'),
  seconds: z.number().min(10).max(600).default(40).describe('for which the load is observed after the split'),
  seed: z.int().min(1).max(1_000_000).default(1).describe('of flows'),
});
type Parameters = z.output<typeof Parameters>;

interface Memory {
  chain: string;
  load: RunningLoad;
  /** Since the start of the run. */
  split_s: number;
  end_s: number;
  scaling: Scaling;
  /** Flows in progress when the split began, and flows that could not stay since. */
  inProgress: number;
  split: Split;
  figures: FlowFigures;
  busyShare: number;
}

/** Splitting an instance under load (E2 3.4.4, Figures 3.9 and 3.10). */
export const E2_SPLIT = defineScenario({
  id: 'e2-split',
  title: 'One instance becomes two under load',
  summary:
    'Flows of published sizes and lifetimes pass one instance of an NF with state by flow. It is split in two: flows in progress stay, new ones are shared out (migration avoidance), or, as a strawman, half of them move with their state. Shows how fast the load evens out, what it costs in latency, and that no packet is lost.',
  source: 'E2 3.6.2, Figures 3.9 and 3.10',
  duration_s: 95,
  watch: 'topology',
  parameters: Parameters,
  faults: ({ from, to }) =>
    from === to ? [{ pointer: '/parameters/to', detail: 'must not be the sending host', code: 'same-host' }] : [],
  needs: ({ from, to, rate_mbps }) => [
    runningTwin(),
    nfs(...NF_KINDS),
    hosts(from, to),
    freeNames(CHAIN),
    freeTraffic(async (api) => {
      const address = await ipv4Of(api, to);
      return address ? [definitionOf({ from, address, port: PORT, rate_bps: 1e6 * rate_mbps })] : [];
    }),
  ],
  steps: (parameters) => {
    const memory = {} as Memory;
    return [
      { title: 'Deploy the chain with one instance', run: (stage) => prepare(stage, memory, parameters) },
      { title: 'Send flows until as many end as begin', run: (stage) => warmUp(stage, memory, parameters) },
      { title: 'Split the instance', run: (stage) => split(stage, memory, parameters) },
      { title: 'Observe the load', run: (stage) => observe(stage, memory, parameters) },
      { title: 'Compare', run: (stage) => compare(stage, memory, parameters) },
    ];
  },
});

const since = ({ started_ms }: Stage) => (Date.now() - started_ms) / 1000;

async function prepare(stage: Stage, memory: Memory, { from, to, rate_mbps, lifetime_s }: Parameters): Promise<void> {
  const { api, make, until } = stage;
  const address = await requireIpv4(api, to);
  memory.chain = await make('chain', definitionOf({ from, address, port: PORT, rate_bps: 1e6 * rate_mbps }));
  // A flow is given up only long after its mean gap between packets.
  const keep_flows = { capacity: 65_536, idle_timeout_s: Math.max(5, Math.ceil(lifetime_s)) };
  const splits = [{ node_id: SPLIT_NF, instances: 1, keep_flows }];
  const { id } = await api.call('createDeployment', { body: { chain_id: memory.chain, splits } });
  await until('the end of the deployment', CHANGE_S, async () => ((await isCarriedOut(api, id)) ? true : null));
}

async function warmUp(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
  const { from, to, flows_per_s, lifetime_s, rate_mbps, seed } = parameters;
  memory.load = await flowLoad(stage, {
    id: CHAIN,
    from,
    to,
    port: PORT,
    settings: {
      flows_per_s,
      mean_lifetime_s: lifetime_s,
      rate_bps: 1e6 * rate_mbps,
      distribution: 'benson-2010',
      packet_bytes: 1400,
      seed,
    },
  });
  await stage.wait(SETTLED_LIFETIMES * lifetime_s, 'as many flows are to end as begin');
}

async function split(stage: Stage, memory: Memory, { flows }: Parameters): Promise<void> {
  const { api, until } = stage;
  memory.inProgress = (await memory.load.figures()).generator.flows ?? 0;
  memory.split_s = since(stage);
  const body = { node_id: SPLIT_NF, instances: 2, flows };
  await api.call('scaleDeployment', { params: { chain_id: memory.chain }, body });
  memory.scaling = await until('the second instance', CHANGE_S, async () => {
    const { items } = await api.call('listScalings', { query: { chain_id: memory.chain } });
    const [scaling] = items;
    if (scaling?.state === 'failed') throw new Error(`the instance was not split: ${scaling.error}`);
    return scaling?.state === 'completed' ? scaling : null;
  });
}

async function observe(stage: Stage, memory: Memory, { seconds }: Parameters): Promise<void> {
  const busyShare = observeCores();
  await stage.wait(seconds, 'new flows are shared out by the ranges');
  memory.busyShare = busyShare();
  memory.end_s = since(stage);
  const { items } = await stage.api.call('listSplits', { params: { chain_id: memory.chain } });
  const found = items.find(({ node_id }) => node_id === SPLIT_NF);
  if (!found) throw new Error('the split is gone');
  memory.split = found;
  memory.figures = await memory.load.figures();
}

async function compare(stage: Stage, memory: Memory, { flows }: Parameters): Promise<void> {
  const { api, started_ms } = stage;
  const { plan_id } = await api.call('getDeployment', { params: { chain_id: memory.chain } });
  const { graph } = await api.call('getPlan', { params: { id: plan_id } });
  const instances = nfInstances(graph)
    .filter(({ chain_id, node_id }) => chain_id === memory.chain && node_id === SPLIT_NF)
    .sort((a, b) => a.ordinal - b.ordinal);
  const history = (metric: 'bps' | 'exceptions' | 'latency_p50_us') =>
    Promise.all(instances.map(({ id }) => historyOf(api, sampleKey('instance', id, metric), started_ms)));
  const rates = (await history('bps')).map((points) => smoothed(points, SMOOTH_S));
  const exceptions = await history('exceptions');
  const latency = await historyOf(api, sampleKey('chain', memory.chain, 'latency_p50_us'), started_ms);
  const uneven = imbalance(rates[0] ?? [], rates[1] ?? []);
  const { split_s, end_s, split, inProgress, figures } = memory;
  const tail_s = end_s - TAIL * (end_s - split_s);
  const evened_s = settledAt(smoothed(uneven, EVEN_S), split_s, BALANCED);
  const before_us = meanFrom(latency, split_s - 5, split_s);
  const during_us = meanFrom(latency, split_s, Math.max(evened_s ?? end_s, split_s + 5));
  const lostPlace = await historyOf(api, sampleKey('nf', `${CHAIN}.${SPLIT_NF}`, 'displaced_per_s'), started_ms);
  const cores = `cores were busy for ${percentOf(memory.busyShare)} of the time`;
  const source = 'E2 3.6.2';

  stage.figure({
    name: 'Imbalance once converged',
    unit: '%',
    published: 10,
    here: percent(meanFrom(uneven, tail_s)),
    source: 'E2 Fig. 3.9: below',
    bar: { least: null, most: 100 * 2 * BALANCED },
    note: `means of ${SMOOTH_S} s over the last ${Math.round(end_s - tail_s)} s; few flows have most bytes, and here there are fewer flows`,
  });
  stage.figure({
    name: 'Time until balanced',
    unit: 's',
    published: 5.6,
    here: evened_s === null ? null : evened_s - split_s,
    source,
    note: `until means of ${EVEN_S} s are within ${100 * BALANCED} % for good; published with 10,000 flows in progress`,
  });
  stage.figure({ name: 'Flows in progress at the split', unit: 'flows', published: 10_000, here: inProgress, source });
  stage.figure({
    name: 'Flows that lost their instance, at most',
    unit: 'flows/s',
    published: null,
    here: lostPlace.length > 0 ? Math.max(...lostPlace.map(([, value]) => value)) : null,
    bar: flows === 'keep' ? { least: 0, most: 0 } : null,
    note: flows === 'keep' ? 'none may: their state is there' : 'they move with their state',
  });
  stage.figure({
    name: 'Packets lost',
    unit: 'packets',
    published: null,
    here: figures.sink.lost ?? null,
    bar: { least: 0, most: 0 },
    note: `of ${figures.generator.sent ?? 0} sent, counted at the receiving host by flow`,
  });
  stage.figure({
    name: 'Latency added meanwhile, p50',
    unit: 'us',
    published: 10,
    here: before_us === null || during_us === null ? null : during_us - before_us,
    source: 'E2 Fig. 3.10: below',
    note: `of all flows, from ${before_us === null ? 'unknown' : before_us.toPrecision(3)} us; ${cores}`,
  });
  stage.figure({
    name: 'Entries of switches for the split',
    unit: 'entries',
    published: null,
    here: split.at === 'engine' ? 0 : null,
    bar: { least: 0, most: 4 },
    note: 'an engine shares out the flows: what is before the NF is not a switch',
  });
  stage.plot({
    title: 'Load of both instances',
    source: '',
    x: { label: 'time since the start', unit: 's' },
    y: { label: 'rate', unit: 'Mbit/s' },
    series: instances.map((_, index) => ({
      name: index === 0 ? 'old instance' : 'new instance',
      published: false,
      modelled: false,
      points: (rates[index] ?? []).map(([s, bps]) => [s, bps / 1e6]),
    })),
  });
  stage.plot({
    title: 'Flows kept at the old instance',
    source: '',
    x: { label: 'time since the start', unit: 's' },
    y: { label: 'exceptions', unit: '' },
    series: [{ name: 'exceptions', published: false, modelled: false, points: exceptions[0] ?? [] }],
  });
  stage.plot({
    title: 'Latency of the chain, median',
    source: '',
    x: { label: 'time since the start', unit: 's' },
    y: { label: 'latency', unit: 'us' },
    series: [{ name: 'p50', published: false, modelled: false, points: latency }],
  });
}

const percent = (share: number | null) => (share === null ? null : 100 * share);
