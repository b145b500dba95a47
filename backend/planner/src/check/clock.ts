import type { Infrastructure } from '@orrery/contract';

/** The contract's limit, used if there is no server. */
const MOST_GHZ = 10;

/** The clock for which plans are sized, so that they hold on any server. */
export function slowestGhz({ servers }: Pick<Infrastructure, 'servers'>): number {
  return Math.min(MOST_GHZ, ...servers.map(({ ghz }) => ghz));
}

/** The clock that no placement can beat. */
export function fastestGhz({ servers }: Pick<Infrastructure, 'servers'>): number {
  return servers.length === 0 ? MOST_GHZ : Math.max(...servers.map(({ ghz }) => ghz));
}
