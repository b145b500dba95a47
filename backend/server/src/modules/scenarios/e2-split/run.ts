import { sampleKey } from '@orrery/contract';
import { requireIpv4 } from '../address.js';
import type { Api } from '../api-caller.js';
import { observeCores } from '../busy-cores.js';
import { isCarriedOut } from '../carried-out.js';
import { type FlowFigures, flowLoad, type RunningLoad } from '../flow-load.js';
import type { Stage } from '../scenario.js';
import { historyOf } from '../series.js';
import { CHAIN, definitionOf, SPLIT_NF } from './chain.js';
import { isFirst, isStaged, type Parameters } from './parameters.js';
import { type TakenOver, takenOver } from './taken-over.js';

const PORT = 9731;
/** Lifetimes after which as many flows end as begin. */
const SETTLED_LIFETIMES = 3;
const CHANGE_S = 90;
/** What a switch told counts for this long. */
const FRESH_S = 3;
const EVERY = { query: { limit: 1000 } };

/** What the steps of a run hand on. */
export interface Memory {
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

const since = ({ started_ms }: Stage) => (Date.now() - started_ms) / 1000;

export const chainOf = (parameters: Parameters, address: string) =>
  definitionOf({
    from: parameters.from,
    address,
    port: PORT,
    rate_bps: 1e6 * parameters.rate_mbps,
    isFirst: isFirst(parameters),
  });

export async function prepare(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
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
export async function entriesOf(api: Api, chainId: string): Promise<number> {
  const { switches } = await api.call('getInfrastructure');
  const rules = await Promise.all(
    switches.map(async ({ id }) => (await api.call('listSwitchRules', { params: { id }, ...EVERY })).items),
  );
  return rules
    .flat()
    .filter(({ chain_id }) => chain_id === chainId)
    .reduce((sum, { entries }) => sum + entries, 0);
}

export async function warmUp(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
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

export async function split(stage: Stage, memory: Memory, { flows }: Parameters): Promise<void> {
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

export async function observe(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
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
