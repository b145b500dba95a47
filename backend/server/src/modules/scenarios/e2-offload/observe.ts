import { nfInstances, type Plan, sampleKey } from '@orrery/contract';
import { observeCores } from '../busy-cores.js';
import { type Count, readAnew } from '../counted.js';
import { ensureServer } from '../load.js';
import { type Replayed, replay } from '../replay.js';
import type { Stage } from '../scenario.js';
import { cpuMsOf, switchProcess } from '../switch-process.js';
import { Window } from '../window.js';
import { CHAIN, FIRST_NFS, LAST_NF } from './chain.js';

/** Of the NFs, behind the last frame, on a busy machine. */
const SETTLE_S = 20;
/** A probe without an answer for a second is lost. */
const LAST_PROBES_S = 3;

/** What is sent, and past which switch. */
export interface Traffic {
  readonly from: string;
  readonly to: string;
  readonly entry: string;
  readonly capture: string;
  readonly frames: number;
  readonly loops: number;
  readonly denied: number;
  readonly rate_pps: number;
  readonly probes_per_s: number;
  readonly seconds: number;
}

/** What one way to run the chain did with it. */
export interface Observed extends Replayed, Probed {
  readonly denied: number;
  /** Out of the last NF. */
  readonly delivered: number;
  /** From the switch into the chain on servers. */
  readonly toServer: Count;
  /** Of the engines of the servers, in cores. */
  readonly enginesCpu: number | null;
  /** Of the NFs that the switch can take, while servers run them, for each frame. */
  readonly firstNfsUs: number | null;
  /** Of the process of the switch, in cores. */
  readonly switchCpu: number | null;
}

export interface Probed {
  readonly p50_us: number | null;
  readonly p99_us: number | null;
  readonly probes: { readonly sent: number; readonly lost: number };
  /** Of the cores of the machine, while probes were sent. */
  readonly busyShare: number;
}

interface Deployed {
  readonly chain: string;
  readonly plan: Plan;
  /** Of which the engines are observed. */
  readonly servers: readonly string[];
}

/** Sends the frames, then probes alone, so that counts are those of the frames. */
export async function observe(
  stage: Stage,
  name: string,
  { chain: chainId, plan, servers }: Deployed,
  traffic: Traffic,
): Promise<Observed> {
  const { frames, denied, entry } = traffic;
  const before = await countedNow(stage, chainId, entry);
  const began_ms = Date.now();
  const begin = performance.now();
  const used = await observeSwitch(stage, entry);
  const replayed = await replay(stage, { id: `scenario-offload-${name}`, ...traffic }, frames - denied);
  const switchCpu = used();
  const first = nfInstances(plan.graph).filter(({ chain_id, node_id }) => chain_id === chainId && isFirst(node_id));
  const engines = servers.map((server) => sampleKey('node', server, 'cpu'));
  const firstCpu = first.map(({ id }) => sampleKey('instance', id, 'cpu'));
  const window = await Window.since(stage.api, [...engines, ...firstCpu], began_ms);
  const seconds = (performance.now() - begin) / 1000;
  const cpu = first.length > 0 ? window.sumOfMeans(firstCpu) : null;
  const until = performance.now() + 1000 * SETTLE_S;
  const after = await stage.until('the counters of the frames', 2 * SETTLE_S, async () => {
    const now = await countedNow(stage, chainId, entry);
    const seen = now.denied - before.denied + (now.delivered - before.delivered);
    return seen >= replayed.sent || performance.now() > until ? now : null;
  });
  return {
    ...replayed,
    denied: after.denied - before.denied,
    delivered: after.delivered - before.delivered,
    toServer: {
      packets: after.toServer.packets - before.toServer.packets,
      bytes: after.toServer.bytes - before.toServer.bytes,
    },
    enginesCpu: window.sumOfMeans(engines),
    firstNfsUs: cpu === null || replayed.sent === 0 ? null : (1e6 * cpu * seconds) / replayed.sent,
    switchCpu,
    ...(await probe(stage, name, traffic)),
  };
}

const isFirst = (node: string | null) => FIRST_NFS.some((id) => id === node);

async function probe(stage: Stage, name: string, { from, to, seconds, probes_per_s }: Traffic): Promise<Probed> {
  const metrics = await startProbes(stage, name, { from, to, rate_per_s: probes_per_s, duration_s: seconds });
  const busyShare = observeCores();
  await stage.wait(seconds, 'sending probes');
  return stage.until('the end of the probes', SETTLE_S, async () => {
    const now = await metrics();
    return now.isOver ? { ...now.probed, busyShare: busyShare() } : null;
  });
}

interface Probes {
  readonly from: string;
  readonly to: string;
  readonly rate_per_s: number;
  /** Absent: until the end of the run. */
  readonly duration_s?: number;
}

async function startProbes(stage: Stage, name: string, { from, to, ...rate }: Probes) {
  await ensureServer(stage, 'probe-server', to);
  const id = `scenario-offload-probe-${name}`;
  const definition = { id, kind: 'probe', node: from, enabled: true, config: { to, ...rate } };
  await stage.make('application', definition);
  return async () => {
    const { state, metrics, detail } = (await stage.api.call('getApplication', { params: { id } })).status;
    if (state === 'failed') throw new Error(`no probes: ${detail}`);
    const value = (metric: string) => metrics.find((each) => each.name === metric)?.value ?? null;
    const probes = { sent: value('sent') ?? 0, lost: value('lost') ?? 0 };
    const probed: Omit<Probed, 'busyShare'> = {
      p50_us: value('latency_p50_us'),
      p99_us: value('latency_p99_us'),
      probes,
    };
    return { isOver: state === 'completed', probed };
  };
}

/** Probes while something is done; resolves with what it does and the probes that were lost. */
export async function probeDuring<T>(
  stage: Stage,
  { from, to, probes_per_s }: Traffic,
  act: () => Promise<T>,
): Promise<{ readonly done: T; readonly probes: Probed['probes'] }> {
  const metrics = await startProbes(stage, 'change', { from, to, rate_per_s: probes_per_s });
  await stage.until('the first probes', SETTLE_S, async () => ((await metrics()).probed.p50_us === null ? null : true));
  const done = await act();
  await stage.wait(LAST_PROBES_S, 'probes go on');
  const { probes } = (await metrics()).probed;
  await stage.api.call('deleteApplication', { params: { id: 'scenario-offload-probe-change' } });
  return { done, probes };
}

async function countedNow(stage: Stage, chainId: string, entry: string) {
  const { api } = stage;
  await readAnew(stage, [entry]);
  const query = { limit: 1000 };
  const { items: rules } = await api.call('listSwitchRules', { params: { id: entry }, query });
  const into = rules.filter(({ chain_id, kind }) => chain_id === chainId && kind === 'classify');
  const { items: nfs } = await api.call('listCounters', { query: { ...query, chain_id: chainId } });
  const of = (node: string) => nfs.filter(({ instance_id }) => instance_id.startsWith(`${CHAIN}.${node}.`));
  const sum = (values: readonly (number | null | undefined)[]) =>
    values.reduce<number>((all, value) => all + (value ?? 0), 0);
  return {
    denied: sum(of('firewall').map(({ drops }) => drops.denied)),
    delivered: sum(of(LAST_NF).map(({ packets_out }) => packets_out)),
    toServer: { packets: sum(into.map(({ packets }) => packets)), bytes: sum(into.map(({ bytes }) => bytes)) },
  };
}

/** Begins to observe the process of the switch; the function tells which share of a core it used since. */
async function observeSwitch({ api }: Stage, id: string): Promise<() => number | null> {
  const pidInTwin = (await api.call('getTwin')).state?.nodes.find((node) => node.id === id)?.pid;
  const pid = pidInTwin == null ? null : switchProcess(pidInTwin);
  const before = pid === null ? null : cpuMsOf(pid);
  const began = performance.now();
  return () => {
    const now = pid === null ? null : cpuMsOf(pid);
    return now === null || before === null ? null : (now - before) / (performance.now() - began);
  };
}
