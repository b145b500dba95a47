/**
 * Limits of a search. `steps` is deterministic; `expired` ends it by the caller's clock, so that no request exceeds its time
 * limit.
 */
export interface Budget {
  readonly steps: number;
  readonly expired?: (() => boolean) | undefined;
}
