/** By whom twind is run, as the keeper of the twin sees it. */
export interface TwinHost {
  /** Whether the twin ends when the server has no need of it, or ends itself. */
  readonly isOurs: boolean;
  /** Ensures that twind answers. Rejects with the reason if it does not come to that, and on abort. True if it was started now. */
  ensure(answers: () => Promise<boolean>, signal: AbortSignal): Promise<boolean>;
  /** Ends the twin if it is ours. */
  stop(): Promise<void>;
}

export const TWIN_HOST = Symbol('TwinHost');
