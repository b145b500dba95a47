import { nfInstances, type Plan } from '@orrery/contract';
import { grouped } from '../grouped.js';
import type { Clocks, MeasuredLoad } from './measured-graph.js';

/** How an NF runs beside how it was planned. Errors are measured / planned - 1, so -1 where nothing came; null: one of the two is unknown, or nothing was planned. */
export interface NfDrift {
  readonly chain_id: string;
  readonly node_id: string;
  readonly planned_bps: number;
  /** Null: an instance was not measured. */
  readonly measured_bps: number | null;
  readonly rate_error: number | null;
  /** Per bit. */
  readonly planned_cycles: number | null;
  readonly measured_cycles: number | null;
  readonly cost_error: number | null;
}

/** Errors up to this are noise of the measurement. */
const NOISE = 0.1;

/** Every NF that the plan runs, those that differ most first. */
export function driftsOf({ graph }: Pick<Plan, 'graph'>, loads: readonly MeasuredLoad[], hz: Clocks): NfDrift[] {
  const measured = new Map(loads.map((load) => [load.instance, load]));
  const nfs = grouped(nfInstances(graph), ({ pgraph_node }) => pgraph_node);
  const drifts = [...nfs.values()].map((instances): NfDrift => {
    const { chain_id, node_id } = instances[0]!;
    const sum = (of: (it: (typeof instances)[number]) => number | null): number | null =>
      instances.reduce<number | null>((total, it) => {
        const value = of(it);
        return total === null || value === null ? null : total + value;
      }, 0);
    const cycles = (share: number | null, server: string) => (share === null ? null : share * (hz.get(server) ?? 0));
    const planned_bps = sum(({ load_bps }) => load_bps)!;
    const measured_bps = sum(({ id }) => measured.get(id)?.bps ?? null);
    const planned_cycles = per(
      sum(({ core_share, server }) => cycles(core_share, server)),
      planned_bps,
    );
    const measured_cycles = per(
      sum(({ id, server }) => cycles(measured.get(id)?.core_share ?? null, server)),
      measured_bps,
    );
    return {
      chain_id,
      node_id,
      planned_bps,
      measured_bps,
      rate_error: error(measured_bps, planned_bps),
      planned_cycles,
      measured_cycles,
      cost_error: error(measured_cycles, planned_cycles),
    };
  });
  const size = ({ rate_error, cost_error }: NfDrift) => Math.max(Math.abs(rate_error ?? 0), Math.abs(cost_error ?? 0));
  return drifts.toSorted((a, b) => size(b) - size(a));
}

export function hasDrifted({ rate_error, cost_error }: NfDrift): boolean {
  return Math.abs(rate_error ?? 0) > NOISE || Math.abs(cost_error ?? 0) > NOISE;
}

function per(amount: number | null, of: number | null): number | null {
  return amount === null || !of ? null : amount / of;
}

function error(measured: number | null, planned: number | null): number | null {
  return measured === null || !planned ? null : measured / planned - 1;
}
