/**
 * How long a search may go on. `steps` makes it repeatable; `expired` ends it by a clock that the caller holds, so that
 * no request outlives its time limit.
 */
export interface Budget {
  readonly steps: number;
  readonly expired?: (() => boolean) | undefined;
}
