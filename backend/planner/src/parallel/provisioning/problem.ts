import { BadProblem, requireAtLeast, requireAtMost, requireIndex } from '../../bad-problem.js';
import type { Constraint } from '../../placement/problem.js';
import type { Series } from '../construction/series.js';

const MAX_PROVISIONED_NFS = 64;
export const MAX_SERVERS = 64;
const MAX_INSTANCES = 4096;

/** An NF of the graph; every NF processes all of the chain's traffic (HydraNF 6.4.2). */
export interface ProvisionedNf {
  readonly id: string;
  /** What one instance processes. */
  readonly instance_rate_bps: number;
  /** Of each instance. */
  readonly cores: number;
  readonly memory_bytes: number;
  readonly max_instances?: number | undefined;
  /** Servers on which policy allows it, by index; absent: all. */
  readonly servers?: readonly number[] | undefined;
  /** Its packets come from, or go to, hosts over the server's link. */
  readonly enters?: boolean;
  readonly leaves?: boolean;
}

interface ProvisioningServer {
  readonly id: string;
  readonly cores: number;
  readonly memory_bytes: number;
  /** In each direction. */
  readonly link_bps: number;
}

/** All traffic of the chain goes along each edge. */
interface SpgEdge {
  readonly from: number;
  readonly to: number;
}

export interface ProvisioningProblem {
  readonly rate_bps: number;
  readonly nfs: readonly ProvisionedNf[];
  readonly edges: readonly SpgEdge[];
  readonly servers: readonly ProvisioningServer[];
  /** From server to server; 0 within one. */
  readonly delay_us: readonly (readonly number[])[];
}

/** Instances that a rate needs. The document prints the floor, with which any remainder has no instance. */
export function instancesNeeded(rate_bps: number, instance_rate_bps: number): number {
  return Math.max(1, Math.ceil((rate_bps / instance_rate_bps) * (1 - 1e-12)));
}

/**
 * Edges of a graph. Mirror and merge stand beside the first branch: what the branches before give meets at the head of
 * the first branch, from where the other heads get their copies; behind a last step it meets at the first branch's end.
 */
export function spgEdges(series: Series): SpgEdge[] {
  return wire(series).edges;
}

interface Wired {
  readonly head: number;
  readonly tail: number;
  readonly edges: SpgEdge[];
}

function wire(series: Series): Wired {
  const parts = series.map((step): Wired => {
    if (step.kind === 'nf') return { head: step.nf, tail: step.nf, edges: [] };
    const branches = step.branches.map(wire);
    const { head, tail } = branches[0]!;
    const copies = branches.slice(1).flatMap((it) => [
      { from: head, to: it.head },
      { from: it.tail, to: tail },
    ]);
    return { head, tail, edges: [...branches.flatMap(({ edges }) => edges), ...copies] };
  });
  const between = parts.slice(1).map(({ head }, i) => ({ from: parts[i]!.tail, to: head }));
  const [head, tail] = [parts[0]?.head ?? -1, parts.at(-1)?.tail ?? -1];
  return { head, tail, edges: [...parts.flatMap(({ edges }) => edges), ...between] };
}

/** Errors: `BadProblem`. */
export function checkProvisioning({ rate_bps, nfs, edges, servers, delay_us }: ProvisioningProblem): void {
  requireAtLeast('/rate_bps', rate_bps, 0, true);
  requireAtMost('/nfs', nfs.length, MAX_PROVISIONED_NFS);
  requireAtMost('/servers', servers.length, MAX_SERVERS);
  if (servers.length === 0) throw new BadProblem('/servers', 'has no server');
  let instances = 0;
  nfs.forEach((nf, i) => {
    requireAtLeast(`/nfs/${i}/instance_rate_bps`, nf.instance_rate_bps, 0, true);
    requireAtLeast(`/nfs/${i}/cores`, nf.cores, 0);
    requireAtLeast(`/nfs/${i}/memory_bytes`, nf.memory_bytes, 0);
    if (nf.max_instances !== undefined) requireAtLeast(`/nfs/${i}/max_instances`, nf.max_instances, 0);
    for (const k of nf.servers ?? []) requireIndex(`/nfs/${i}/servers`, k, servers.length);
    instances += instancesNeeded(rate_bps, nf.instance_rate_bps);
  });
  requireAtMost('/nfs', instances, MAX_INSTANCES);
  edges.forEach(({ from, to }, e) => {
    requireIndex(`/edges/${e}/from`, from, nfs.length);
    requireIndex(`/edges/${e}/to`, to, nfs.length);
    if (from === to) throw new BadProblem(`/edges/${e}`, 'leads back to where it starts');
  });
  servers.forEach((server, k) => {
    requireAtLeast(`/servers/${k}/cores`, server.cores, 0);
    requireAtLeast(`/servers/${k}/memory_bytes`, server.memory_bytes, 0);
    requireAtLeast(`/servers/${k}/link_bps`, server.link_bps, 0);
    if (delay_us[k]?.length !== servers.length)
      throw new BadProblem(`/delay_us/${k}`, 'must have a delay to each server');
    delay_us[k].forEach((it, to) => {
      requireAtLeast(`/delay_us/${k}/${to}`, it, 0);
      if (k === to && it !== 0) throw new BadProblem(`/delay_us/${k}/${to}`, 'must be 0 within a server');
    });
  });
}

/** Constraints that no placement can meet; empty: a placement may exist. */
export function impossibilities({ rate_bps, nfs, servers }: ProvisioningProblem): Constraint[] {
  const counts = nfs.map((nf) => instancesNeeded(rate_bps, nf.instance_rate_bps));
  const conflicts: Constraint[] = [];
  const all = 'all servers';
  nfs.forEach((nf, i) => {
    const at = { needed: counts[i]!, unit: 'instances', where: nf.id };
    if (counts[i]! > (nf.max_instances ?? Number.POSITIVE_INFINITY))
      conflicts.push({ ...at, constraint: 'max-instances', available: nf.max_instances! });
    const allowed = servers.filter((_, k) => nf.servers?.includes(k) ?? true);
    const room = (of: 'cores' | 'memory_bytes') =>
      allowed.reduce((sum, it) => sum + (nf[of] > 0 ? Math.floor(it[of] / nf[of] + 1e-9) : counts[i]!), 0);
    if (room('cores') < counts[i]!) conflicts.push({ ...at, constraint: 'cpu', available: room('cores') });
    if (room('memory_bytes') < counts[i]!)
      conflicts.push({ ...at, constraint: 'memory', available: room('memory_bytes') });
  });
  const total = (of: 'cores' | 'memory_bytes') => ({
    needed: nfs.reduce((sum, nf, i) => sum + nf[of] * counts[i]!, 0),
    available: servers.reduce((sum, it) => sum + it[of], 0),
  });
  const [cpu, memory] = [total('cores'), total('memory_bytes')];
  if (cpu.needed > cpu.available * (1 + 1e-9)) conflicts.push({ constraint: 'cpu', ...cpu, unit: 'cores', where: all });
  if (memory.needed > memory.available * (1 + 1e-9))
    conflicts.push({ constraint: 'memory', ...memory, unit: 'bytes', where: all });
  return conflicts;
}
