import type { ObservedElement } from '@orrery/contract';

/** What was last told of an instance. */
export interface Told {
  readonly element: ObservedElement;
  /** Since when it works in software, as far as is known; null: it does not. */
  readonly softwareMs: number | null;
}

/**
 * Since when an instance works in software. An agent does not tell when it was switched before it or its agent started, nor
 * what a new configuration has switched: then it is since it was first told of.
 */
export function softwareSince(before: Told | undefined, element: ObservedElement, nowMs: number): number | null {
  if (element.accelerated) return null;
  if (element.switched_ms !== null) return element.switched_ms;
  const isAsBefore = before?.element.accelerated === false && before.element.switched_ms === null;
  return isAsBefore ? before.softwareMs : nowMs;
}
