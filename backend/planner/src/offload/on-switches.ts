import type { NfOnSwitch } from '@orrery/contract';
import { grouped } from '../grouped.js';
import type { SwitchNfs } from '../lower/input.js';

/** An NF at the beginning of a chain that the switches run at which its packets enter. */
export interface OnSwitch {
  readonly chain_id: string;
  readonly node_id: string;
  readonly nf: string;
  readonly pgraph_node: string;
  /** The edge of the policy graph by which its packets come from the ingress. */
  readonly class_edge: string;
  readonly runs: NfOnSwitch;
  readonly switches: readonly string[];
  readonly load_bps: number;
  /** Cores that it would take on servers. */
  readonly cores: number;
}

export interface OnSwitches {
  /** Of a chain in the order in which packets pass them. */
  readonly taken: readonly OnSwitch[];
  readonly nfs: SwitchNfs;
}

export const NONE_ON_SWITCHES: OnSwitches = { taken: [], nfs: new Map() };

export function onSwitches(taken: readonly OnSwitch[]): OnSwitches {
  const byClass = grouped(taken, ({ class_edge }) => class_edge);
  return {
    taken,
    nfs: new Map(
      [...byClass].map(([edge, own]) => [edge, own.map(({ pgraph_node, runs }) => ({ nf: pgraph_node, runs }))]),
    ),
  };
}
