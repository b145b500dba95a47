import { type Infrastructure, type NfDescriptor, type NfRef, nfInstances, type Plan } from '@orrery/contract';
import { CORE_BUDGET } from '@orrery/planner';
import { instancesOf } from '../places.js';

/** Measured; both directions. */
export interface MeasuredLoad {
  readonly pps: number;
  readonly bps: number;
}

/** In cycles per second. */
export interface SoftwareRoom {
  readonly needed: number;
  readonly available: number;
}

/**
 * What the measured load would cost an NF's instances in the plan, and what their cores have left for it beside
 * everything else that the plan puts there. Null: the plan has no instance of it on a core.
 */
export function softwareRoom(
  plan: Plan,
  nf: NfRef,
  { pps, bps }: MeasuredLoad,
  { implementations }: NfDescriptor,
  { servers }: Pick<Infrastructure, 'servers'>,
): SoftwareRoom | null {
  const own = instancesOf(plan, nf).filter(({ driver }) => driver !== 'board');
  const cost = implementations.find(({ driver }) => driver === own[0]?.driver)?.cost;
  if (!cost) return null;
  const hz = new Map(servers.map(({ id, ghz }) => [id, ghz * 1e9]));
  const mine = new Set(own.map(({ id }) => id));
  const cores = new Map(own.map(({ server, core }) => [`${server}/${core}`, { server, core }]));
  let available = 0;
  for (const { server, core } of cores.values()) {
    const others = nfInstances(plan.graph).filter((it) => it.server === server && it.core === core && !mine.has(it.id));
    const used = others.reduce((sum, { core_share }) => sum + core_share, 0);
    available += Math.max(0, CORE_BUDGET - used) * (hz.get(server) ?? 0);
  }
  return { needed: pps * cost.cycles_per_packet + (bps / 8) * cost.cycles_per_byte, available };
}
