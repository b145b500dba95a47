import { type ChainDefinition, type SloAlert, sampleKey } from '@orrery/contract';
import { requireIpv4 } from '../address.js';
import type { Api } from '../api-caller.js';
import { isCarriedOut, requireFeasible } from '../carried-out.js';
import { takeDown } from '../deploy-chain.js';
import { type FlowFigures, type FlowLoad, flowLoad } from '../flow-load.js';
import type { Stage } from '../scenario.js';
import { historyOf } from '../series.js';
import { definitionOf, FIRST, SCALED } from './chain.js';
import { isMissed, type Look, serverToCut } from './judgement.js';

const EVERY = { limit: 1000 };
const CHANGE_S = 120;
/** Between two looks at objectives and instances. */
const LOOK_S = 1;
/** For the load to end by itself, beyond its time. */
const ENDED_S = 60;
/** For healing and scaling to end what they began. */
const SETTLED_S = 60;

type Points = readonly (readonly [s: number, value: number])[];

/** What a round is to do. */
export interface Course {
  readonly chain: string;
  readonly load: FlowLoad;
  /** Of the load, which ends by itself then. */
  readonly seconds: number;
  readonly fault_s: number;
  /** After the fault. */
  readonly cleared_s: number;
  /** When somebody deploys anew without the server, after the fault; null: healing does. */
  readonly byHand_s: number | null;
  /** Of the NF that is scaled; null: nothing scales it. */
  readonly policy: string | null;
  /** See `serverToCut`. */
  readonly together: boolean | null;
}

/** What was seen of a round; times are since its start. */
export interface Round {
  readonly looks: readonly Look[];
  readonly offered: Points;
  readonly delivered: Points;
  readonly p99_us: Points;
  readonly figures: FlowFigures & { readonly missing: number };
  readonly alerts: readonly SloAlert[];
  readonly fault_s: number;
  readonly cut: { readonly server: string; readonly together: boolean };
  /** What healing and scaling left behind, for people. */
  readonly left: readonly string[];
}

interface Deployed {
  readonly from: string;
  readonly to: string;
  readonly rate_bps: number;
  readonly cpu_limit: number;
  readonly lifetime_s: number;
}

/** Resolves with the chain once one instance of each NF runs, that of the scaled one in a container. */
export async function deployWithOne(
  stage: Stage,
  { from, to, rate_bps, cpu_limit, lifetime_s }: Deployed,
  slos: ChainDefinition['slos'],
): Promise<string> {
  const { api, make, until } = stage;
  const address = await requireIpv4(api, to);
  const chain_id = await make('chain', definitionOf({ from, address, rate_bps, cpu_limit }, slos));
  const keep_flows = { capacity: 16_384, idle_timeout_s: Math.max(5, Math.ceil(lifetime_s)) };
  const splits = [{ node_id: SCALED, instances: 1, keep_flows }];
  const implementations = [{ chain_id, node_id: SCALED, on: 'container' as const }];
  const plan = await api.call('createPlan', { body: { chains: [{ chain_id, splits }], implementations } });
  requireFeasible(plan);
  const { id } = await api.call('createDeployment', { body: { plan_id: plan.id } });
  await until('the end of the deployment', CHANGE_S, async () => ((await isCarriedOut(api, id)) ? true : null));
  return chain_id;
}

/** Something that is done once, at its time. */
interface Deed {
  readonly at_s: number;
  run(s: number): Promise<unknown>;
}

/** Sends the load, cuts a server off and brings it back meanwhile, and looks at the chain all the time. */
export async function runRound(stage: Stage, course: Course): Promise<Round> {
  const { api, until, note } = stage;
  const { chain, seconds, policy } = course;
  const load = await flowLoad(stage, course.load);
  const startedMs = Date.now();
  const began = performance.now();
  const looks: Look[] = [];
  const done: Done = { cut: null, fault_s: course.fault_s, fault: null, byHand: null };
  const due = deedsOf(stage, course, done);
  await until('the end of the round', seconds + ENDED_S, async () => {
    const s = (performance.now() - began) / 1000;
    if (due[0] && s >= due[0].at_s) await due.shift()!.run(s);
    else if (s >= (looks.at(-1)?.s ?? Number.NEGATIVE_INFINITY) + LOOK_S) looks.push(await lookAt(api, chain, s));
    note(done.cut ? `${done.cut.server} was cut off` : 'the load rises', Math.min(1, s / seconds));
    return s >= seconds && due.length === 0 ? true : null;
  });
  if (!done.cut) throw new Error('no server was cut off');
  // Throws where it has failed.
  if (done.byHand !== null) await isCarriedOut(api, done.byHand);
  const figures = await load.ended(ENDED_S);
  const rates = (application: string) => historyOf(api, sampleKey('application', application, 'bps'), startedMs);
  const seen = {
    looks,
    offered: await rates(course.load.id),
    delivered: await rates(`${course.load.id}-sink`),
    p99_us: await historyOf(api, sampleKey('chain', chain, 'latency_p99_us'), startedMs),
    figures,
    alerts: (await api.call('listSloAlerts', { query: { chain_id: chain, ...EVERY } })).items,
    fault_s: done.fault_s,
    cut: done.cut,
  };
  if (policy !== null) await api.call('deleteScalingPolicy', { params: { id: policy } });
  const left = await settled(stage);
  await takeAway(stage, course.load.id, chain);
  return { ...seen, left };
}

interface Done {
  cut: Round['cut'] | null;
  fault_s: number;
  fault: string | null;
  /** The operation. */
  byHand: string | null;
}

/** In the order of their times. */
function deedsOf({ api, make }: Stage, course: Course, done: Done): Deed[] {
  const { chain, fault_s, cleared_s, byHand_s, together } = course;
  const cutOff = async (s: number) => {
    const { items } = await api.call('listNfInstances', { query: { chain_id: chain, ...EVERY } });
    const cut = serverToCut(items, SCALED, FIRST, together);
    if (!cut) throw new Error(`${SCALED} does not run`);
    done.cut = cut;
    done.fault_s = s;
    done.fault = await make('fault', { kind: 'link-down', target: await linkOf(api, cut.server) });
  };
  const deployAnew = async () => {
    done.byHand = await deployWithout(api, chain, done.cut!.server);
  };
  const deeds: Deed[] = [
    { at_s: fault_s, run: cutOff },
    { at_s: fault_s + cleared_s, run: () => api.call('clearFault', { params: { id: done.fault! } }) },
    ...(byHand_s === null ? [] : [{ at_s: fault_s + byHand_s, run: deployAnew }]),
  ];
  return deeds.sort((a, b) => a.at_s - b.at_s);
}

/** The load with its sink, and the chain. */
export async function takeAway(stage: Stage, load: string, chain: string): Promise<void> {
  const { api } = stage;
  for (const id of [load, `${load}-sink`]) await api.call('deleteApplication', { params: { id } });
  await takeDown(stage, chain);
  await api.call('deleteChain', { params: { id: chain } });
}

async function lookAt(api: Api, chain: string, s: number): Promise<Look> {
  const query = { chain_id: chain, ...EVERY };
  const { items: slos } = await api.call('listSlos', { query });
  const { items: instances } = await api.call('listNfInstances', { query });
  const left = slos.flatMap(({ budget }) => (budget ? [budget.left_share] : []));
  return {
    s,
    missed: slos.some(isMissed),
    instances: instances.filter(({ node_id }) => node_id === SCALED).length,
    left: left.length > 0 ? Math.min(...left) : null,
  };
}

/** The link of its first network card, which is that of the data plane: healing calls the server lost without it. */
async function linkOf(api: Api, server: string): Promise<string> {
  const { servers, links } = await api.call('getInfrastructure');
  const port = servers.find(({ id }) => id === server)?.nics[0]?.name;
  const link = links.find(({ a, b }) => [a, b].some((end) => end.node === server && end.port === port));
  if (!link) throw new Error(`${server} has no link`);
  return link.id;
}

/** As somebody would who sees that the server is away. Returns the operation. */
async function deployWithout(api: Api, chain_id: string, server: string): Promise<string> {
  const { version } = await api.call('getDeployment', { params: { chain_id } });
  const body = { chains: [{ chain_id, version }], without_servers: [server] };
  const plan = await api.call('createPlan', { body });
  requireFeasible(plan);
  return (await api.call('createDeployment', { body: { plan_id: plan.id } })).id;
}

/** What is left once it has ended, or has not in time. */
async function settled({ api, wait }: Stage): Promise<string[]> {
  for (const began = performance.now(); ; await wait(1, 'what healing and scaling began is to end')) {
    const { items: out } = await api.call('listOutOfService', { query: EVERY });
    const { items: notKept } = await api.call('listChainsNotKept', { query: EVERY });
    const { items: scalings } = await api.call('listScalings', { query: { state: 'running', ...EVERY } });
    const left = [
      ...out.map(({ id }) => `${id} out of service`),
      ...notKept.map(({ chain_id }) => `${chain_id} not kept`),
      ...scalings.map(({ nf }) => `${nf.node_id} being scaled`),
    ];
    if (left.length === 0 || performance.now() - began > 1000 * SETTLED_S) return left;
  }
}
