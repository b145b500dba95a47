import type { ApplicationsSpec, ObservedApplications } from '@orrery/contract';

export const TWIN_APPLICATIONS = Symbol('TwinApplications');

/** The applications of the emulated hosts, which twind runs. */
export interface TwinApplications {
  /** Counts the starts of twind, each of which needs the specification again; null: it does not run. */
  readonly incarnation: number | null;
  /** Sends twind the applications to run. Rejects if it refuses or does not answer, and on abort. */
  put(spec: ApplicationsSpec, signal: AbortSignal): Promise<void>;
  /** Called when twind has started. */
  onIncarnation(listener: () => void): void;
  /** Its last report; null: none since the server started. */
  readonly observed: ObservedApplications | null;
  /** Why its report is stale; null: it is current. */
  readonly away: string | null;
}
