export const DATA_PATH = Symbol('DataPath');

/** Whether packets that enter a chain get through it, by what switches, engines and exits count. */
export interface DataPath {
  /**
   * Why a deployed chain carries nothing of what it is offered: the link that is down, or else the place, one line each;
   * empty: it loses no packet, or not every one, or nothing is offered to it.
   */
  breaksOf(chainId: string): readonly string[];
  onChange(listener: () => void): void;
}
