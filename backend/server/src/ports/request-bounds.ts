import type { WayBound } from '@orrery/planner';

export const REQUEST_BOUNDS = Symbol('RequestBounds');

/** What was promised to service requests, for those who move what they use. */
export interface RequestBounds {
  /** Active requests, as `pool/request`, of which packets take longer than they may once these instances are there. */
  missedWith(moved: readonly { readonly instance: string; readonly to: string }[]): readonly string[];
  /** Ways of active requests, each with the tightest of their bounds. */
  ways(): readonly WayBound[];
}
