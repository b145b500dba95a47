import { BadProblem, requireAtLeast, requireAtMost, requireIndex } from '../bad-problem.js';

const MAX_NODES = 1024;
export const MAX_CANDIDATES = 4096;
export const MAX_STAGES = 200;

/** A server or board that carries instances, or a place where traffic comes in or goes out. */
interface ChainNode {
  readonly id: string;
  /** Processor cycles, TCAM entries or the like that are left; all instances on the node share them. */
  readonly capacity_free: number;
  readonly capacity_unit: string;
}

/** An NF instance that runs (HYPER IV-A). */
export interface ChainInstance {
  readonly id: string;
  /** Index of its function and of its node. */
  readonly function: number;
  readonly node: number;
  /** latency_p of HYPER IV-B. */
  readonly latency_us: number;
  readonly throughput_free_bps: number;
  /** What each chain takes of the node's capacity, and what each bit per second adds to it. */
  readonly capacity_per_chain: number;
  readonly capacity_per_bps: number;
}

/** An instance that could be deployed, at most once. */
export interface DeployOption extends ChainInstance {
  /** What the deployment costs, above 0: the fewest and cheapest are asked for. */
  readonly cost: number;
  /** What the instance takes of the node's capacity before any traffic. */
  readonly capacity_fixed: number;
}

export interface ChainNetwork {
  readonly functions: readonly string[];
  readonly nodes: readonly ChainNode[];
  readonly instances: readonly ChainInstance[];
  readonly options: readonly DeployOption[];
  /** latency_t of HYPER IV-B by [from][to]; infinite where there is no way. */
  readonly transit_us: readonly (readonly number[])[];
}

/** An SLA: one flow through functions in order. */
export interface ChainRequest {
  readonly functions: readonly number[];
  readonly ingress: number;
  readonly egress: number;
  readonly throughput_bps: number;
  /** Maximum latency of the whole path, from ingress to egress. */
  readonly latency_us: number;
}

/** What could not be met: the figures, their unit and the place. */
export interface Shortage {
  readonly constraint: 'function' | 'connection' | 'latency' | 'throughput' | 'capacity' | 'deployment';
  readonly needed: number;
  readonly available: number;
  readonly unit: string;
  readonly where: string;
}

/** Errors: `BadProblem` for an invalid network. */
export function checkNetwork({ functions, nodes, instances, options, transit_us }: ChainNetwork): void {
  requireAtMost('/nodes', nodes.length, MAX_NODES);
  requireAtMost('/instances', instances.length + options.length, MAX_CANDIDATES);
  nodes.forEach((node, v) => {
    requireAtLeast(`/nodes/${v}/capacity_free`, node.capacity_free, 0);
  });
  const check = (at: string, it: ChainInstance) => {
    requireIndex(`${at}/function`, it.function, functions.length);
    requireIndex(`${at}/node`, it.node, nodes.length);
    requireAtLeast(`${at}/latency_us`, it.latency_us, 0);
    requireAtLeast(`${at}/throughput_free_bps`, it.throughput_free_bps, 0);
    requireAtLeast(`${at}/capacity_per_chain`, it.capacity_per_chain, 0);
    requireAtLeast(`${at}/capacity_per_bps`, it.capacity_per_bps, 0);
  };
  instances.forEach((it, i) => {
    check(`/instances/${i}`, it);
  });
  options.forEach((it, i) => {
    check(`/options/${i}`, it);
    requireAtLeast(`/options/${i}/cost`, it.cost, 0, true);
    requireAtLeast(`/options/${i}/capacity_fixed`, it.capacity_fixed, 0);
  });
  if (transit_us.length !== nodes.length) throw new BadProblem('/transit_us', `must have ${nodes.length} rows`);
  transit_us.forEach((row, from) => {
    if (row.length !== nodes.length) throw new BadProblem(`/transit_us/${from}`, `must have ${nodes.length} entries`);
    row.forEach((delay, to) => {
      if (!(delay >= 0)) throw new BadProblem(`/transit_us/${from}/${to}`, `must be at least 0, not ${delay}`);
    });
  });
}

/** Errors: `BadProblem` for a request with unknown references. */
export function checkRequest(request: ChainRequest, functions: number, nodes: number): void {
  if (request.functions.length === 0) throw new BadProblem('/functions', 'must name at least one function');
  requireAtMost('/functions', request.functions.length, MAX_STAGES);
  for (let k = 0; k < request.functions.length; k++) {
    const f = request.functions[k]!;
    if (!isIndex(f, functions)) requireIndex(`/functions/${k}`, f, functions);
  }
  requireIndex('/ingress', request.ingress, nodes);
  requireIndex('/egress', request.egress, nodes);
  requireAtLeast('/throughput_bps', request.throughput_bps, 0, true);
  requireAtLeast('/latency_us', request.latency_us, 0);
}

function isIndex(index: number, count: number): boolean {
  return Number.isInteger(index) && index >= 0 && index < count;
}
