export const DATA_PATH = Symbol('DataPath');

/** Whether packets that enter a chain get through it, by what switches, engines and exits count. */
export interface DataPath {
  /** Where a deployed chain loses every packet, one line each; empty: nowhere, or nothing is offered to it. */
  breaksOf(chainId: string): readonly string[];
  onChange(listener: () => void): void;
}
