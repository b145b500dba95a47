import type { Infrastructure } from '@orrery/contract';

/** The contract's limit, used if there is no server. */
const MOST_GHZ = 10;

/** The clock for which a chain is sized, in GHz, by its id. */
export type ClockOf = (chainId: string) => number;

/** The clock of the slowest server, so that what is sized for it fits on any. */
export function slowestGhz({ servers }: Pick<Infrastructure, 'servers'>): number {
  return Math.min(MOST_GHZ, ...servers.map(({ ghz }) => ghz));
}

/**
 * The clocks for which a plan can be sized, slowest first, so that it holds on any server. What is sized for a clock fits
 * no slower core, yet a plan may need it: the faster the clock, the fewer instances.
 */
export function clocksOf({ servers }: Pick<Infrastructure, 'servers'>): number[] {
  const clocks = [...new Set(servers.map(({ ghz }) => ghz))].sort((a, b) => a - b);
  return clocks.length > 0 ? clocks : [MOST_GHZ];
}

/** The clock that no placement can beat. */
export function fastestGhz({ servers }: Pick<Infrastructure, 'servers'>): number {
  return servers.length === 0 ? MOST_GHZ : Math.max(...servers.map(({ ghz }) => ghz));
}
