import { nfInstances, sampleKey } from '@orrery/contract';
import { percentOf } from '../busy-cores.js';
import { QUIET_BELOW } from '../chain-latency/judgement.js';
import type { Stage } from '../scenario.js';
import { historyOf } from '../series.js';
import { balancedAt, highest, imbalance, meanFrom, smoothed, together, withoutEntry } from './balance.js';
import { CHAIN, SPLIT_NF } from './chain.js';
import { isStaged, type Parameters } from './parameters.js';
import { entriesOf, type Memory } from './run.js';
import { compareHandover } from './taken-over.js';

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

export async function compare(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
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
