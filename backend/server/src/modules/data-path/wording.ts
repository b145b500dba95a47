import type { Trouble } from './troubles.js';

/** Other words for the troubles of a chain are told once they have held for this long. */
const HOLDS_MS = 2500;
/** Words that were not found again for this long are no longer told, even if no others hold. */
const OUTDATED_MS = 10_000;

/** What is told of a chain. Times are of one monotonic clock. */
export interface Told {
  readonly troubles: readonly Trouble[];
  /** What is found instead and since when; since when what is told was not found. Null: what is told is found. */
  readonly instead: {
    readonly troubles: readonly Trouble[];
    readonly sinceMs: number;
    readonly missedMs: number;
  } | null;
}

export const NOTHING_TOLD: Told = { troubles: [], instead: null };

/**
 * What is told next: at once a trouble that begins or ends, and that everything is lost instead of a part; other words for the same
 * troubles when they have held. At few packets per second every look finds other packets lost.
 */
export function toldNext({ troubles, instead }: Told, found: readonly Trouble[], nowMs: number): Told {
  if (isSame(found, troubles)) return { troubles, instead: null };
  const worsens = isTotal(found) && !isTotal(troubles);
  if (worsens || subjectsOf(found) !== subjectsOf(troubles)) return { troubles: found, instead: null };
  const sinceMs = instead && isSame(instead.troubles, found) ? instead.sinceMs : nowMs;
  const missedMs = instead?.missedMs ?? nowMs;
  const isDue = nowMs - sinceMs >= HOLDS_MS || nowMs - missedMs >= OUTDATED_MS;
  return isDue ? { troubles: found, instead: null } : { troubles, instead: { troubles: found, sinceMs, missedMs } };
}

const isTotal = (troubles: readonly Trouble[]) => troubles.some((each) => each.isTotal);
const isSame = (a: readonly Trouble[], b: readonly Trouble[]) => JSON.stringify(a) === JSON.stringify(b);

/** Which troubles there are, however they are worded. */
function subjectsOf(troubles: readonly Trouble[]): string {
  return JSON.stringify([...new Set(troubles.map(({ kind, what }) => (kind === 'host' ? what : kind)))]);
}
