import type { LoopInput } from '@orrery/contract';

/** Definition of a loop that observes, decides and acts. */
export interface LoopDefinition {
  readonly id: string;
  readonly title: string;
  /** What it does, in a sentence. */
  readonly purpose: string;
  /** Time after its last run at which a key runs without being woken; null: only when woken. */
  readonly tickMs: number | null;
  /** A failed run is repeated after `firstMs`, doubling each time up to `mostMs`. */
  readonly backoff: { readonly firstMs: number; readonly mostMs: number };
  /**
   * Whether the cause of the key's last failure is gone. Called when the key is woken during its back-off, which then ends
   * `firstMs` after the failure. Absent: a back-off always runs its full time.
   */
  readonly recovered?: (key: string) => boolean;
  /** Called when the loop is paused. */
  readonly onPause?: () => void;
  /** A run that takes longer is cancelled and counts as failed. */
  readonly deadlineMs: number;
  /** One run, based on stored state only: it may be the first after a restart. A loop with one subject has the key ''. */
  run(run: LoopRun): Promise<RunOutcome | undefined>;
}

export interface LoopRun {
  readonly key: string;
  /** Aborted at the deadline and when the loop stops. */
  readonly signal: AbortSignal;
  /**
   * Settles with the work, or rejects when the run is cancelled: a hanging step ends at the deadline. The work itself ends
   * with it only where it is given `signal`, as calls to agents and twind are. What such a call has already asked for may
   * still happen: a receiver must accept the same state twice.
   */
  step<T>(work: Promise<T>): Promise<T>;
  /**
   * For a wait that is as long as the work of others: the deadline is off until the function that it gives is called, and
   * begins anew then.
   */
  holdDeadline(): () => void;
  decide(decision: Decision): void;
}

export interface RunOutcome {
  /** Delay until the next run in ms; `done`: the key is finished and is dropped. */
  readonly again: number | 'done';
}

/** What a loop decided, its subject, and the reason. */
export interface Decision {
  readonly subject: string;
  readonly what: string;
  readonly why: string;
  /** The figures and states that it is based on; may be empty. */
  readonly inputs: Readonly<Record<string, LoopInput>>;
  /** An event of its own tells it, so that `loop.decided` would repeat it. */
  readonly told?: boolean;
}

export interface TakenDecision extends Decision {
  readonly loop: string;
  readonly atMs: number;
  /** Earlier decisions of this loop that the rate limit suppressed. */
  readonly suppressed: number;
}

export interface LoopStatus {
  readonly id: string;
  readonly title: string;
  readonly purpose: string;
  readonly paused: boolean;
  /** Keys with a run in progress. */
  readonly atWork: readonly string[];
  readonly lastRunMs: number | null;
  /** Null: when it is woken. */
  readonly nextRunMs: number | null;
  readonly lastDecision: TakenDecision | null;
  /** Consecutive failed runs, of the key with the most. */
  readonly failures: number;
  /** Of the same key. */
  readonly lastError: string | null;
  readonly runs: number;
}
