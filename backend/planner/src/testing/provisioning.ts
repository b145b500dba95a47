import type { ProvisioningProblem } from '../parallel/provisioning/problem.js';
import type { Random } from '../random.js';

/**
 * A graph of NFs with about three instances each on servers that hold them all with a little room: the mix with which
 * the solvers were compared (facts/performance.md 2b).
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
