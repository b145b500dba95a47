/** Waiting for one phase of one operation; monotonic times. */
export interface Wait {
  readonly of: string;
  readonly beganMs: number;
  deadlineMs: number;
  progress: string;
  /** Switches whose agents were away when they were last told. */
  switchesAway: readonly string[];
  /** The operation was reported as FAILED_TEMP. */
  reported: boolean;
}

export function beginWait(of: string, nowMs: number, timeoutMs: number): Wait {
  return { of, beganMs: nowMs, deadlineMs: nowMs + timeoutMs, progress: '', switchesAway: [], reported: false };
}

/** What a phase of an operation that goes forward waits for. */
export interface Stuck {
  /** Nodes that are away, if nothing else is in the way; otherwise none. */
  readonly away: readonly string[];
  readonly why: string;
  /** Since the phase began. */
  readonly sinceMs: number;
}

export type Way = 'wait' | 'leave-out' | 'set-aside' | 'ROLLED_BACK' | 'FAILED';

/** An agent that restarts is back within this time. */
export const AWAY_GRACE_MS = 2000;

/**
 * What becomes of an operation that is stuck. It waits for as long as nobody else does, except in `clean` for nodes that are
 * away: these may never come back, and nothing else would tell. In `clean` and `settle` traffic runs by its plan already: what
 * cannot be told now is left out. Before, its change is taken back: it fails if something is in the way, and is set aside if
 * nodes are away, unless a later operation changes the same chains.
 */
export function wayOf(
  phase: string,
  stuck: Stuck,
  others: { readonly waiting: boolean; readonly supersede: boolean },
  patienceMs: number,
): Way {
  const isAway = stuck.away.length > 0;
  if (phase === 'clean' && isAway && stuck.sinceMs >= patienceMs) return 'leave-out';
  const dueMs = isAway ? Math.min(AWAY_GRACE_MS, patienceMs) : patienceMs;
  if (!others.waiting || stuck.sinceMs < dueMs) return 'wait';
  if (phase === 'clean' || phase === 'settle') return 'leave-out';
  if (!isAway) return 'FAILED';
  return others.supersede ? 'ROLLED_BACK' : 'set-aside';
}
