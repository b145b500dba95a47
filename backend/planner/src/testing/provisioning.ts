import fc from 'fast-check';
import type { ProvisioningProblem } from '../parallel/provisioning/problem.js';
import type { Provisioned } from '../parallel/provisioning/provision.js';
import { type Random, seededRandom } from '../random.js';

/**
 * A graph of NFs with about three instances each on servers that hold them all with a little room: the mix with which
 * the solvers were compared.
 */
export function randomProvisioning(nfs: number, servers: number, random: Random): ProvisioningProblem {
  const between = (lo: number, hi: number) => lo + Math.floor(random() * (hi - lo + 1));
  const rate_bps = 10e9;
  const parts = Array.from({ length: nfs }, (_, i) => ({
    id: `nf-${i}`,
    instance_rate_bps: (between(25, 60) / 100) * rate_bps,
    cores: between(1, 3),
    memory_bytes: between(1, 4) * 2 ** 30,
  }));
  const chain = parts.slice(1).map((_, i) => ({ from: random() < 0.8 ? i : between(0, i), to: i + 1 }));
  const need = (of: 'cores' | 'memory_bytes') =>
    parts.reduce((sum, it) => sum + it[of] * Math.ceil(rate_bps / it.instance_rate_bps), 0);
  const room = 1.25;
  return {
    rate_bps,
    nfs: parts,
    edges: chain,
    servers: Array.from({ length: servers }, (_, k) => ({
      id: `server-${k}`,
      cores: Math.ceil((need('cores') * room) / servers),
      memory_bytes: Math.ceil((need('memory_bytes') * room) / servers),
      link_bps: 100e9,
    })),
    delay_us: delays(servers, random),
  };
}

export function delays(servers: number, random: Random): number[][] {
  const delay = Array.from({ length: servers }, () => new Array<number>(servers).fill(0));
  for (let a = 0; a < servers; a++)
    for (let b = 0; b < a; b++) delay[a]![b] = delay[b]![a] = 5 + Math.floor(random() * 20);
  return delay;
}

/** Small problems in which every limit may bind. */
export function arbitraryProvisioning(maxNfs: number, maxServers: number): fc.Arbitrary<ProvisioningProblem> {
  return fc
    .record({
      nfs: fc.array(
        fc.record({
          percent: fc.integer({ min: 30, max: 130 }),
          cores: fc.integer({ min: 1, max: 3 }),
          memory_bytes: fc.integer({ min: 0, max: 3 }),
          allowed: fc.nat(9),
          max_instances: fc.constantFrom(undefined, undefined, undefined, 2),
        }),
        { minLength: 1, maxLength: maxNfs },
      ),
      servers: fc.array(
        fc.record({
          cores: fc.integer({ min: 3, max: 10 }),
          memory_bytes: fc.integer({ min: 3, max: 12 }),
          link_bps: fc.constantFrom(60, 150, 1000),
        }),
        { minLength: 1, maxLength: maxServers },
      ),
      ends: fc.boolean(),
      seed: fc.nat(),
    })
    .map(({ nfs, servers, ends, seed }) => {
      const random = seededRandom(seed);
      return {
        rate_bps: 100,
        nfs: nfs.map(({ percent, allowed, ...nf }, i) => ({
          ...nf,
          id: `nf-${i}`,
          instance_rate_bps: percent,
          servers: allowed === 0 ? [allowed % servers.length] : undefined,
          enters: ends && i === 0,
          leaves: ends && i === nfs.length - 1,
        })),
        edges: nfs.slice(1).map((_, i) => ({ from: random() < 0.7 ? i : Math.floor(random() * (i + 1)), to: i + 1 })),
        servers: servers.map((it, k) => ({ ...it, id: `s${k}` })),
        delay_us: delays(servers.length, random),
      };
    });
}

const EPSILON = 1e-6;

/** What an answer breaks, from the definitions alone. */
export function violations(problem: ProvisioningProblem, answer: Provisioned): string[] {
  const { nfs, servers, edges, rate_bps, delay_us } = problem;
  const faults: string[] = [];
  const differs = (a: number, b: number) => Math.abs(a - b) > EPSILON * rate_bps;
  const sum = (values: readonly number[]) => values.reduce((total, it) => total + it, 0);
  nfs.forEach((nf, i) => {
    const counts = answer.counts[i]!;
    if (sum(counts) !== Math.ceil(rate_bps / nf.instance_rate_bps)) faults.push(`instances of ${nf.id}`);
    if (nf.max_instances !== undefined && sum(counts) > nf.max_instances) faults.push(`too many of ${nf.id}`);
    if (differs(sum(answer.loads_bps[i]!), rate_bps)) faults.push(`traffic of ${nf.id}`);
    counts.forEach((count, k) => {
      if (count > 0 && nf.servers && !nf.servers.includes(k)) faults.push(`policy of ${nf.id}`);
      if (answer.loads_bps[i]![k]! > count * nf.instance_rate_bps + EPSILON * rate_bps) faults.push(`${nf.id} on ${k}`);
    });
  });
  edges.forEach(({ from, to }, e) => {
    servers.forEach((_, k) => {
      const flows = answer.flows.filter(({ edge }) => edge === e);
      const out = sum(flows.filter((it) => it.from_server === k).map((it) => it.rate_bps));
      const into = sum(flows.filter((it) => it.to_server === k).map((it) => it.rate_bps));
      if (differs(out, answer.loads_bps[from]![k]!) || differs(into, answer.loads_bps[to]![k]!))
        faults.push(`edge ${e}`);
    });
  });
  const crossing = answer.flows.filter(({ from_server, to_server }) => from_server !== to_server);
  servers.forEach((server, k) => {
    const used = (of: 'cores' | 'memory_bytes') => sum(nfs.map((nf, i) => nf[of] * answer.counts[i]![k]!));
    if (used('cores') > server.cores) faults.push(`cpu of ${server.id}`);
    if (used('memory_bytes') > server.memory_bytes) faults.push(`memory of ${server.id}`);
    const outside = (end: 'enters' | 'leaves') => sum(nfs.map((nf, i) => (nf[end] ? answer.loads_bps[i]![k]! : 0)));
    const into = sum(crossing.filter((it) => it.to_server === k).map((it) => it.rate_bps)) + outside('enters');
    const out = sum(crossing.filter((it) => it.from_server === k).map((it) => it.rate_bps)) + outside('leaves');
    if (Math.max(into, out) > server.link_bps + EPSILON * rate_bps) faults.push(`link of ${server.id}`);
  });
  const bits = sum(crossing.map((it) => it.rate_bps * delay_us[it.from_server]![it.to_server]! * 1e-6));
  if (Math.abs(bits - answer.overhead_bits) > EPSILON * (1 + bits)) faults.push('overhead');
  return faults;
}
