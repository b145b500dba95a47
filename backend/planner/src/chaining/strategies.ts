import { type Budget, Spending } from '../budget.js';
import { type Random, shuffled } from '../random.js';
import { bestByLabels } from './labels.js';
import { isAble, lacking, overbookedBy, type PreparedNetwork } from './network.js';
import type { ChainRequest } from './problem.js';
import { shortestPath } from './stages.js';

export type ChainStrategy = 'hyper' | 'hyper-as-printed' | 'function-only' | 'stratos' | 'random';

/** One run of the stage-by-stage search, and what kept its path from qualifying. */
export interface Round {
  readonly over: 'running' | 'running, capacity shared' | 'running and deployable';
  /** Of the path that it found; `null`: none. */
  readonly latency_us: number | null;
  readonly outcome: 'qualifies' | 'function' | 'latency' | 'capacity' | 'stopped';
}

export interface Attempt {
  /** Candidates by stage; `null`: the strategy has found none. */
  readonly path: ArrayLike<number> | null;
  readonly rounds: readonly Round[];
  /** No path qualifies at a smaller cost of deployment, nor at this cost with less latency; or none qualifies at all. */
  readonly proven: boolean;
}

type Strategy = (network: PreparedNetwork, request: ChainRequest, random: Random, budget: Budget) => Attempt;

/** Every chaining strategy. */
export const STRATEGIES: Record<ChainStrategy, Strategy> = {
  hyper,
  'hyper-as-printed': hyperAsPrinted,
  'function-only': functionOnly,
  stratos: stratosLike,
  random: anyInstances,
};

export const CHAIN_STRATEGIES = Object.keys(STRATEGIES) as ChainStrategy[];

/**
 * HYPER IV-B, made exact. First the shortest path over what runs; when its latency is in bound but stages on one node
 * overbook it together, labels find the shortest that overbooks nothing; when nothing that runs qualifies, the cheapest
 * deployments are added.
 */
function hyper(network: PreparedNetwork, request: ChainRequest, _: Random, budget: Budget): Attempt {
  const { path: scratch } = network.scratch;
  const rounds: Round[] = [];
  const latency = shortestPath(network, request, false);
  const inBound = latency <= request.latency_us * (1 + 1e-9);
  if (inBound) {
    const path = scratch.slice(0, request.functions.length);
    const fits = overbookedBy(network, path, request.throughput_bps) === null;
    rounds.push({ over: 'running', latency_us: latency, outcome: fits ? 'qualifies' : 'capacity' });
    if (fits) return { path, rounds, proven: true };
  } else
    rounds.push({ over: 'running', latency_us: finite(latency), outcome: whyNotReached(network, request, latency) });
  const scopes = inBound ? [false, true] : [true];
  for (const withOptions of scopes) {
    if (withOptions && network.source.options.length === 0 && rounds.length > 1) break;
    const spending = new Spending(budget);
    const scope = { withOptions, latency_us: request.latency_us, lifted: null, spending };
    const { found, complete } = bestByLabels(network, request, scope);
    rounds.push({
      over: withOptions ? 'running and deployable' : 'running, capacity shared',
      latency_us: found?.latency_us ?? null,
      outcome: found ? 'qualifies' : complete ? 'capacity' : 'stopped',
    });
    if (found) return { path: found.path, rounds, proven: true };
    if (!complete) return { path: null, rounds, proven: false };
  }
  return { path: null, rounds, proven: true };
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

function whyNotReached(network: PreparedNetwork, request: ChainRequest, latency: number): Round['outcome'] {
  if (Number.isFinite(latency)) return 'latency';
  const runs = (f: number) => network.byFunction[f]!.some((c) => network.running[c]);
  if (!request.functions.every(runs)) return 'function';
  const able = (f: number) =>
    network.byFunction[f]!.some((c) => network.running[c] && isAble(network, c, request.throughput_bps));
  return request.functions.every(able) ? 'latency' : 'capacity';
}

/**
 * The loop as the document prints it, with its slips: the last leg to the egress is left out, a way is compared with a
 * latency that already holds latency_p, and a node that two stages overbook together is barred from both.
 */
function hyperAsPrinted(network: PreparedNetwork, request: ChainRequest): Attempt {
  const barred = new Uint8Array(network.nodes);
  const rounds: Round[] = [];
  const complete = request.functions.every((f) => network.byFunction[f]!.some((c) => network.running[c]));
  let withOptions = !complete;
  for (;;) {
    const over = withOptions ? 'running and deployable' : 'running';
    const { path, latency } = printedSearch(network, request, barred, withOptions);
    if (!path || latency > request.latency_us) {
      rounds.push({ over, latency_us: finite(latency), outcome: 'latency' });
      if (withOptions || network.source.options.length === 0) return { path: null, rounds, proven: false };
      withOptions = true;
      continue;
    }
    const failing = failingNode(network, path, request.throughput_bps);
    rounds.push({ over, latency_us: latency, outcome: failing === null ? 'qualifies' : 'capacity' });
    if (failing === null) return { path, rounds, proven: false };
    barred[failing] = 1;
  }
}

function failingNode(network: PreparedNetwork, path: readonly number[], rate: number): number | null {
  for (let k = 0; k < path.length; k++) {
    if (overbookedBy(network, path.slice(0, k + 1), rate)) return network.node[path[k]!]!;
  }
  return null;
}

/** Algorithm 1, line by line; latencies and predecessors of one stage at a time. */
function printedSearch(network: PreparedNetwork, request: ChainRequest, barred: Uint8Array, withOptions: boolean) {
  const { nodes, node, transit_us, latency_us, running, byFunction } = network;
  let stage: { readonly latency: number; readonly path: readonly number[]; readonly at: number }[] = [
    { latency: 0, path: [], at: request.ingress },
  ];
  for (const f of request.functions) {
    const next: typeof stage = [];
    for (const c of byFunction[f]!) {
      if (!(withOptions || running[c]) || barred[node[c]!]) continue;
      let best: (typeof stage)[number] | null = null;
      for (const y of stage) {
        const way = y.latency + transit_us[y.at * nodes + node[c]!]!;
        if (way < (best?.latency ?? Number.POSITIVE_INFINITY))
          best = { latency: way + latency_us[c]!, path: [...y.path, c], at: node[c]! };
      }
      if (best) next.push(best);
    }
    stage = next;
  }
  const least = stage.reduce<(typeof stage)[number] | null>((a, b) => (a && a.latency <= b.latency ? a : b), null);
  return { path: least?.path ?? null, latency: least?.latency ?? Number.POSITIVE_INFINITY };
}

/** The first instance of each function, whatever its free capacity. */
function functionOnly(network: PreparedNetwork, request: ChainRequest): Attempt {
  const { byFunction, running } = network;
  const path: number[] = [];
  for (const f of request.functions) {
    const all = byFunction[f]!;
    const runs = all.find((c) => running[c] === 1);
    const chosen = runs ?? all.find((c) => !lacking(network, c, request.throughput_bps));
    if (chosen === undefined) return { path: null, rounds: [], proven: false };
    path.push(chosen);
  }
  return { path, rounds: [], proven: false };
}

/**
 * Reimplemented from the description of Stratos in HYPER VII-E: each stage takes the nearest instance with capacity, with
 * ties broken by free throughput; the latency bound is ignored.
 */
function stratosLike(network: PreparedNetwork, request: ChainRequest): Attempt {
  const { nodes, node, transit_us, free_bps } = network;
  return stageByStage(network, request, (running, path) => {
    const from = path.length > 0 ? node[path.at(-1)!]! : request.ingress;
    const hop = (c: number) => transit_us[from * nodes + node[c]!]!;
    const open = running.filter((c) => overbookedBy(network, [...path, c], request.throughput_bps) === null);
    return open.sort((a, b) => hop(a) - hop(b) || free_bps[b]! - free_bps[a]! || a - b)[0];
  });
}

/** A uniformly random instance of each function. */
function anyInstances(network: PreparedNetwork, request: ChainRequest, random: Random): Attempt {
  return stageByStage(network, request, (running) => shuffled(running, random)[0]);
}

/** A path by one choice after the other; for a function that does not run yet, among the options that alone have room. */
function stageByStage(
  network: PreparedNetwork,
  request: ChainRequest,
  choose: (candidates: number[], path: readonly number[]) => number | undefined,
): Attempt {
  const path: number[] = [];
  for (const f of request.functions) {
    const all = [...network.byFunction[f]!];
    const running = all.filter((c) => network.running[c]);
    const open = running.length > 0 ? running : all.filter((c) => !lacking(network, c, request.throughput_bps));
    const chosen = choose(open, path);
    if (chosen === undefined) return { path: null, rounds: [], proven: false };
    path.push(chosen);
  }
  return { path, rounds: [], proven: false };
}
