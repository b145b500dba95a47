import { nfInstances, sampleKey } from '@orrery/contract';
import { z } from 'zod';
import { ipv4Of, requireIpv4 } from '../address.js';
import type { Api } from '../api-caller.js';
import { observeCores, percentOf } from '../busy-cores.js';
import { isCarriedOut } from '../carried-out.js';
import { QUIET_BELOW } from '../chain-latency/judgement.js';
import { meanLifetime, newFlows, receiver, seedOf, sender } from '../fields.js';
import { type FlowFigures, flowLoad, type RunningLoad } from '../flow-load.js';
import { freeNames, freeTraffic, hosts, nfs, runningTwin } from '../needs.js';
import { defineScenario, type Stage } from '../scenario.js';
import { historyOf } from '../series.js';
import { balancedAt, highest, imbalance, meanFrom, smoothed, together, withoutEntry } from './balance.js';
import { CHAIN, definitionOf, NF_KINDS, SPLIT_NF } from './chain.js';
import { compareHandover, type TakenOver, takenOver } from './taken-over.js';

const PORT = 9731;
/** Lifetimes after which as many flows end as begin. */
const SETTLED_LIFETIMES = 3;
const CHANGE_S = 90;
const SMOOTH_S = 2;
/** Single large flows come and go within it. */
const EVEN_S = 5;
/** Published (E2 3.6.2): below 10 % once converged. */
const BALANCED = 0.1;
/** Published: added to the latency while flows are shared out. */
const ADDED_US = 10;
/** Part of the time after the change that counts as converged. */
const TAIL = 0.6;
/** The longest flows of the published distribution, by the mean lifetime: then none is left of those before the split. */
const LONGEST = 4.3;
/** For which the latency before the split is measured. */
const BEFORE_S = 10;
/** What a switch told counts for this long. */
const FRESH_S = 3;
const EVERY = { query: { limit: 1000 } };

const Parameters = z.object({
  from: sender('client-3'),
  to: receiver('web-1'),
  flows: z
    .enum(['keep', 'migrate', 'never'])
    .default('keep')
    .meta({
      title: 'Flows in progress',
      titles: {
        keep: 'Stay (migration avoidance)',
        migrate: 'Move with their state (strawman)',
        never: 'Stay by entries of the switch (strawman)',
      },
    }),
  first_nf: z.boolean().default(false).meta({
    title: 'Split the first NF',
    description:
      'where flows stay by migration avoidance: the switches take over its split once few flows stay elsewhere than the ranges say; P4 switches can',
  }),
  flows_per_s: newFlows(400, 'on average (published: 2,000)'),
  lifetime_s: meanLifetime(5, 60),
  rate_mbps: z
    .number()
    .min(0.1)
    .max(1000)
    .default(12)
    .meta({ title: 'Rate of all flows', unit: 'Mbit/s', description: 'together (published: 1,000)' }),
  switch_entries: z.int().min(16).max(4000).default(410).meta({
    title: 'Entries of the switch',
    unit: 'entries',
    description:
      'for flows in progress, where they stay by entries (published: 2,048 for 10,000 flows, here for 2,000)',
  }),
  // Samples are kept for ten minutes, of which the change may take CHANGE_S.
  seconds: z
    .number()
    .min(10)
    .max(480)
    .default(60)
    .meta({ title: 'Observation', unit: 's', description: 'of the load after the split' }),
  seed: seedOf('flows'),
});
type Parameters = z.output<typeof Parameters>;

interface Memory {
  chain: string;
  load: RunningLoad;
  /** Since the start of the run. */
  split_s: number;
  end_s: number;
  /** Entries of switches for the chain before the split. */
  entries: number;
  /** Flows in progress when the split began; null: not told. */
  inProgress: number | null;
  /** Why there is no second instance; null: there is. */
  refusal: string | null;
  /** When the switches had taken over the split, since the start of the run, with the flows that they keep elsewhere; null: they have not. */
  over: TakenOver | null;
  figures: FlowFigures;
  busyShare: number;
}

const isFirst = ({ flows, first_nf }: Parameters) => flows === 'never' || first_nf;
/** Engines have its split until the switches take it over. */
const isStaged = ({ flows, first_nf }: Parameters) => flows === 'keep' && first_nf;

/** Splitting an instance under load (E2 3.4.4, Figures 3.9 and 3.10). */
export const E2_SPLIT = defineScenario({
  id: 'e2-split',
  title: 'One instance becomes two under load',
  summary:
    'Flows of published sizes and lifetimes pass one instance of an NF with state by flow. It is split in two: flows in progress stay, new ones are shared out (migration avoidance), or, as strawmen, half of them move with their state, or the switch keeps each by an entry. Shows how fast the load evens out, what it costs in latency and entries of the switch, and that no packet is lost.',
  source: 'E2 3.6.2, Figures 3.9 and 3.10',
  duration_s: 95,
  watch: 'topology',
  parameters: Parameters,
  faults: ({ from, to, flows, first_nf }) => [
    ...(from === to ? [{ pointer: '/parameters/to', detail: 'must not be the sending host', code: 'same-host' }] : []),
    ...(first_nf && flows === 'migrate'
      ? [{ pointer: '/parameters/first_nf', detail: 'is for flows that stay', code: 'not-migrate' }]
      : []),
  ],
  needs: (parameters) => [
    runningTwin(),
    nfs(...NF_KINDS),
    hosts(parameters.from, parameters.to),
    freeNames(CHAIN),
    freeTraffic(async (api) => {
      const address = await ipv4Of(api, parameters.to);
      return address ? [chainOf(parameters, address)] : [];
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

const chainOf = (parameters: Parameters, address: string) =>
  definitionOf({
    from: parameters.from,
    address,
    port: PORT,
    rate_bps: 1e6 * parameters.rate_mbps,
    isFirst: isFirst(parameters),
  });

async function prepare(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
  const { api, make, until } = stage;
  const address = await requireIpv4(api, parameters.to);
  memory.chain = await make('chain', chainOf(parameters, address));
  // A flow is given up only long after its mean gap between packets.
  const idle_timeout_s = Math.max(5, Math.ceil(parameters.lifetime_s));
  const keep_flows = { capacity: isFirst(parameters) ? parameters.switch_entries : 65_536, idle_timeout_s };
  const how = isStaged(parameters) ? { staged: { idle_timeout_s } } : { keep_flows };
  const splits = [{ node_id: SPLIT_NF, instances: 1, ...how }];
  const { id } = await api.call('createDeployment', { body: { chain_id: memory.chain, splits } });
  await until('the end of the deployment', CHANGE_S, async () => ((await isCarriedOut(api, id)) ? true : null));
}

/** Entries of all switches for rules of the chain, without those for flows that a switch keeps. */
async function entriesOf(api: Api, chainId: string): Promise<number> {
  const { switches } = await api.call('getInfrastructure');
  const rules = await Promise.all(
    switches.map(async ({ id }) => (await api.call('listSwitchRules', { params: { id }, ...EVERY })).items),
  );
  return rules
    .flat()
    .filter(({ chain_id }) => chain_id === chainId)
    .reduce((sum, { entries }) => sum + entries, 0);
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
  memory.inProgress = (await memory.load.figures()).generator.flows ?? null;
  memory.entries = await entriesOf(api, memory.chain);
  memory.refusal = null;
  memory.split_s = since(stage);
  const isFull = flows === 'never' && (await tellsNoRoom(stage));
  const body = { node_id: SPLIT_NF, instances: 2, flows: flows === 'migrate' ? 'migrate' : 'keep' };
  try {
    await api.call('scaleDeployment', { params: { chain_id: memory.chain }, body });
  } catch (error) {
    if (!isFull) throw error;
    memory.refusal = (error as Error).message;
    stage.note(memory.refusal);
    return;
  }
  await until('the second instance', CHANGE_S, async () => {
    const { items } = await api.call('listScalings', { query: { chain_id: memory.chain } });
    const [scaling] = items;
    if (scaling?.state === 'failed') throw new Error(`the instance was not split: ${scaling.error}`);
    return scaling?.state === 'completed' ? true : null;
  });
}

/** Whether switches tell of flows that they had no entries for: then no instance joins. Open vSwitch does not tell. */
async function tellsNoRoom(stage: Stage): Promise<boolean> {
  const key = sampleKey('nf', `${CHAIN}.${SPLIT_NF}`, 'untracked_pps');
  const told = await historyOf(stage.api, key, stage.started_ms);
  return told.some(([s, pps]) => s >= since(stage) - FRESH_S && pps > 0);
}

async function observe(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
  const busyShare = observeCores();
  const { seconds } = parameters;
  memory.over = isStaged(parameters) ? await takenOver(stage, memory.chain, seconds, () => since(stage)) : null;
  const left = seconds - (memory.over ? memory.over.at_s - memory.split_s : 0);
  await stage.wait(
    isStaged(parameters) && !memory.over ? 1 : Math.max(1, left),
    'new flows are shared out by the ranges',
  );
  memory.busyShare = busyShare();
  memory.end_s = since(stage);
  if (!isStaged(parameters)) await requireSplitter(stage.api, memory, isFirst(parameters) ? 'switch' : 'engine');
  memory.figures = await memory.load.figures();
}

/** Throws where others share out the flows than the run is about. */
async function requireSplitter(api: Api, memory: Memory, expected: 'switch' | 'engine'): Promise<void> {
  if (memory.refusal !== null) return;
  const { items } = await api.call('listSplits', { params: { chain_id: memory.chain } });
  const found = items.find(({ node_id }) => node_id === SPLIT_NF);
  if (!found) throw new Error('the split is gone');
  if (found.at === expected) return;
  throw new Error(
    expected === 'switch'
      ? `the switches do not keep flows of ${SPLIT_NF}: an engine shares them out for them`
      : `switches share out the flows of ${SPLIT_NF}, not the engine in front of it`,
  );
}

async function compare(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
  const { api, started_ms } = stage;
  const { flows } = parameters;
  const { plan_id } = await api.call('getDeployment', { params: { chain_id: memory.chain } });
  const { graph } = await api.call('getPlan', { params: { id: plan_id } });
  const instances = nfInstances(graph)
    .filter(({ chain_id, node_id }) => chain_id === memory.chain && node_id === SPLIT_NF)
    .sort((a, b) => a.ordinal - b.ordinal);
  const history = (metric: 'bps' | 'exceptions' | 'flows') =>
    Promise.all(instances.map(({ id }) => historyOf(api, sampleKey('instance', id, metric), started_ms)));
  const [old = [], added = []] = await history('bps');
  const exceptions = await history('exceptions');
  const latency = await historyOf(api, sampleKey('chain', memory.chain, 'latency_p50_us'), started_ms);
  const { split_s, end_s, inProgress, figures } = memory;
  const tail_s = end_s - TAIL * (end_s - split_s);
  const evened_s = balancedAt(old, added, { afterS: split_s, windowS: EVEN_S, limit: BALANCED });
  const before_us = meanFrom(latency, split_s - BEFORE_S, split_s);
  const during_us = meanFrom(latency, split_s, Math.max(evened_s ?? end_s, split_s + 5));
  const lostPlace = await historyOf(api, sampleKey('nf', `${CHAIN}.${SPLIT_NF}`, 'displaced_per_s'), started_ms);
  const isQuiet = memory.busyShare < QUIET_BELOW;
  const cores = `${isQuiet ? '' : 'not judged: '}cores were busy for ${percentOf(memory.busyShare)} of the time`;
  const source = 'E2 3.6.2';

  stage.figure({
    name: 'Imbalance once converged',
    unit: '%',
    published: flows === 'never' ? 80 : 10,
    here: percent(imbalance(old, added, tail_s, end_s)),
    source: flows === 'never' ? source : 'E2 Fig. 3.9: below',
    bar: flows === 'never' ? null : { least: null, most: 100 * BALANCED },
    note: `${imbalanceText(memory, parameters)}by what each carried in the last ${Math.round(end_s - tail_s)} s: few flows have most bytes, and here there are fewer flows`,
  });
  stage.figure({
    name: 'Time until balanced',
    unit: 's',
    published: flows === 'never' ? null : 5.6,
    here: evened_s === null ? null : evened_s - split_s,
    source,
    bar: flows === 'never' || !isQuiet ? null : { least: null, most: LONGEST * parameters.lifetime_s + EVEN_S },
    note: `until ${EVEN_S} s, and all behind them, are within ${100 * BALANCED} %; the largest flows last ${Math.round(LONGEST * parameters.lifetime_s)} s, and the old instance keeps its own; ${cores}`,
  });
  stage.figure({ name: 'Flows in progress at the split', unit: 'flows', published: 10_000, here: inProgress, source });
  stage.figure({
    name: 'Flows that lost their instance, at most',
    unit: 'flows/s',
    published: null,
    here: highest(lostPlace),
    bar: flows === 'keep' ? { least: 0, most: 0 } : null,
    note: LOST_PLACE[flows],
  });
  if (isStaged(parameters)) compareHandover(stage, memory.over, memory.split_s);
  if (flows === 'never') await compareTable(stage, memory, parameters, await history('flows'));
  else await compareEntries(stage, memory, parameters);
  stage.figure({
    name: 'Packets lost',
    unit: 'packets',
    published: null,
    here: figures.sink.lost ?? null,
    bar: { least: 0, most: 0 },
    note: `of ${figures.generator.sent ?? 'unknown'} sent, counted at the receiving host by flow`,
  });
  stage.figure({
    name: 'Latency added meanwhile, p50',
    unit: 'us',
    published: flows === 'keep' ? ADDED_US : null,
    here: before_us === null || during_us === null ? null : during_us - before_us,
    source: flows === 'keep' ? 'E2 Fig. 3.10: below' : '',
    bar: flows === 'keep' && isQuiet ? { least: null, most: ADDED_US } : null,
    note: `of all flows, from ${before_us === null ? 'unknown' : before_us.toPrecision(3)} us; ${cores}`,
  });
  stage.plot({
    title: 'Load of both instances',
    source: '',
    x: { label: 'time since the start', unit: 's' },
    y: { label: 'rate', unit: 'Mbit/s' },
    series: [old, added].slice(0, instances.length).map((points, index) => ({
      name: index === 0 ? 'old instance' : 'new instance',
      published: false,
      modelled: false,
      points: smoothed(points, SMOOTH_S).map(([s, bps]) => [s, bps / 1e6]),
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

const LOST_PLACE = {
  keep: 'none may: their state is there',
  migrate: 'they move with their state',
  never: 'switches do not count them',
} as const;

function imbalanceText({ refusal }: Memory, { flows }: Parameters): string {
  if (refusal !== null) return 'one instance has all: the switch has no room for more flows, so none joins; ';
  return flows === 'never' ? 'flows without an entry follow the ranges, where E2 makes the new range smaller; ' : '';
}

/** Migration at an engine: switches need to know the way to the new instance, and nothing of flows. */
async function compareEntries(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
  const { api, started_ms } = stage;
  const { flows } = parameters;
  const untracked = await historyOf(api, sampleKey('nf', `${CHAIN}.${SPLIT_NF}`, 'untracked_pps'), started_ms);
  stage.figure({
    name: 'Packets of flows without room in the table, at most',
    unit: 'packets/s',
    published: null,
    here: highest(untracked),
    bar: flows === 'keep' ? { least: 0, most: 0 } : null,
    note: 'of the engine that shares out the flows, for 65,536 of them',
  });
  stage.figure({
    name: 'Entries of switches for the split',
    unit: 'entries',
    published: null,
    here: (await entriesOf(api, memory.chain)) - memory.entries,
    bar: { least: null, most: 4 },
    note: `more of them than before it; ${memory.over ? `beside ${memory.over.exceptions} for flows that stay elsewhere until they end` : 'an engine shares out the flows, and keeps those in progress: nothing is handed over'}`,
  });
}

/** Switches that keep each flow by an entry; `flows`: those kept at each instance, over time. */
async function compareTable(
  stage: Stage,
  memory: Memory,
  { switch_entries }: Parameters,
  flows: readonly (readonly (readonly [number, number])[])[],
): Promise<void> {
  const { inProgress, split_s } = memory;
  const used = together(flows);
  const most = highest(used);
  const more = (await entriesOf(stage.api, memory.chain)) - memory.entries;
  stage.figure({
    name: 'Entries of switches for the split',
    unit: 'entries',
    published: 2048,
    here: most === null ? null : most + more,
    source: 'E2 3.6.2: all of the switch',
    note: `${most ?? 'unknown'} of ${switch_entries} for flows that it keeps, at most at a time, and ${more} for the ranges`,
  });
  stage.figure({
    name: 'Flows in progress without an entry at the split, at least',
    unit: 'flows',
    published: null,
    here: inProgress === null ? null : withoutEntry(inProgress, used, split_s),
    note: `of ${inProgress ?? 'unknown'}; those whose range goes to the new instance come there without their state`,
  });
  stage.plot({
    title: 'Entries for flows',
    source: '',
    x: { label: 'time since the start', unit: 's' },
    y: { label: 'entries', unit: '' },
    series: [{ name: 'in use', published: false, modelled: false, points: used }],
  });
}

const percent = (share: number | null) => (share === null ? null : 100 * share);
