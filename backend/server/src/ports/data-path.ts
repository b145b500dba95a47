import type { Infrastructure } from '@orrery/contract';

export const DATA_PATH = Symbol('DataPath');

/** What is wrong with the way of a chain's packets. */
export interface PathTrouble {
  /** The link that is down, or else the place: one line. */
  readonly what: string;
  /** Nothing of what is offered arrives. */
  readonly isTotal: boolean;
  /** The link that is down, where that is the cause. */
  readonly link: Infrastructure['links'][number] | null;
}

/** What a chain carried of what was offered to it. */
export interface Carriage {
  readonly offered_packets: number;
  readonly offered_bps: number;
  /** Share of the offered packets that left the chain or that an NF refused, 0 to 1. */
  readonly share: number;
  /** Share of the offered packets that NFs, queues and merges count as lost, 0 to 1: exact, but nothing on links is counted. */
  readonly lost_share: number;
}

/** Whether packets that enter a chain get through it, by what switches, engines and exits count. */
export interface DataPath {
  /** Empty: a deployed chain loses no packets, or nothing is offered to it. */
  troublesOf(chainId: string): readonly PathTrouble[];
  /**
   * Over the last seconds that the switches have reported. `unknown`: one that lets packets in, or may be the one that does, is
   * silent, or packets are missing that an NF may have dropped on purpose and does not count. Null: the switches count nothing, or
   * let nothing in.
   */
  carriage(chainId: string, seconds: number): Carriage | 'unknown' | null;
  /** Whether packets have left the chain since a switch would count as silent. */
  delivers(chainId: string): boolean;
  onChange(listener: () => void): void;
}
