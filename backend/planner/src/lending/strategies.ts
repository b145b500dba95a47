import type { Account, Vnf } from './state.js';

export type LendingStrategy = 'ssm' | 'static' | 'round-robin';

export interface LendingSettings {
  readonly strategy: LendingStrategy;
  /** Thresholds, as shares of the most that a VNF may use; `th_low` below `th_up`. */
  readonly th_up: number;
  readonly th_low: number;
  readonly slice_ms: number;
}

interface Waiting {
  readonly id: string;
  readonly account: Account;
}

export interface Strategy {
  readonly wants: (vnf: Vnf, settings: LendingSettings) => boolean;
  /** Whether a holder gives up by itself. */
  readonly leaves: (vnf: Vnf, settings: LendingSettings) => boolean;
  /** Whether a holder gives way when its slice is over. */
  readonly takesTurns: boolean;
  /** Below 0: `a` is served before `b`. */
  readonly order: (a: Waiting, b: Waiting) => number;
}

const byId = (a: Waiting, b: Waiting) => (a.id < b.id ? -1 : 1);
const overloaded: Strategy['wants'] = ({ usage }, { th_up }) => usage !== null && usage > th_up;

/** Algorithm 1 of SSM (II.B), and two strawmen. */
export const LENDING_STRATEGIES: Readonly<Record<LendingStrategy, Strategy>> = {
  ssm: {
    wants: overloaded,
    leaves: ({ usage }, { th_low }) => usage !== null && usage < th_low,
    takesTurns: true,
    order: (a, b) => a.account.time_ms - b.account.time_ms || byId(a, b),
  },
  /** The first that is overloaded keeps it. */
  static: {
    wants: overloaded,
    leaves: () => false,
    takesTurns: false,
    order: byId,
  },
  /** Turns of one slice each, whatever the load. */
  'round-robin': {
    wants: () => true,
    leaves: () => false,
    takesTurns: true,
    order: (a, b) => a.account.turn - b.account.turn || byId(a, b),
  },
};
