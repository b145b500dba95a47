import type { Log } from '../log.js';
import { isPassing } from '../passing-error.js';
import type { Clock } from './clock.js';
import { Decisions } from './decisions.js';
import type { Decision, LoopDefinition, LoopRun, LoopStatus, TakenDecision } from './definition.js';

/** One key of a loop. */
interface Lane {
  readonly key: string;
  running: Promise<void> | null;
  /** Cancels the current run. */
  cancel: AbortController;
  /** Woken, but not started since. */
  due: boolean;
  failures: number;
  /** Of the last run; null: it succeeded. */
  error: string | null;
  /** When the last failed run ended; monotonic time. */
  failedAtMs: number;
  /** When it runs next; monotonic time. Null: when it is woken. */
  nextAtMs: number | null;
  cancelTimer: (() => void) | null;
}

/** Runs a loop, one run per key at a time. Waking a running key makes it run once more. */
export class ControlLoop {
  private readonly lanes = new Map<string, Lane>();
  private readonly decisions: Decisions;
  private isStopping = false;
  private isPaused = false;
  private lastRunMs: number | null = null;
  private runs = 0;

  constructor(
    private readonly definition: LoopDefinition,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly tell: (decision: TakenDecision) => void,
  ) {
    this.decisions = new Decisions(definition.id);
  }

  /** Runs the key as soon as possible: not while the loop is paused or backing off, unless `recovered` ends the back-off. */
  wake(key = ''): void {
    const lane = this.laneOf(key);
    lane.due = true;
    if (lane.failures === 0) this.begin(lane);
    else if (!lane.running) this.shortenBackoff(lane);
  }

  /** Known keys: running, waiting for their next run, or due. */
  get keys(): readonly string[] {
    return [...this.lanes.keys()];
  }

  /** A running key finishes its run. */
  pause(): void {
    if (this.isPaused) return;
    this.isPaused = true;
    this.definition.onPause?.();
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    for (const lane of [...this.lanes.values()]) if (lane.due) this.begin(lane);
  }

  /** Cancels all runs. Resolves when none is left. */
  async stop(): Promise<void> {
    this.isStopping = true;
    for (const lane of this.lanes.values()) {
      lane.cancelTimer?.();
      lane.cancel.abort(new Error('the server stops'));
    }
    await Promise.all([...this.lanes.values()].map(({ running }) => running));
    this.lanes.clear();
  }

  status(): LoopStatus {
    const { id, title, purpose } = this.definition;
    const lanes = [...this.lanes.values()];
    const nextAtMs = lanes.flatMap((lane) => lane.nextAtMs ?? []);
    const nowMs = this.clock.nowMs();
    const [worst] = lanes.filter(({ error }) => error !== null).sort((a, b) => b.failures - a.failures);
    return {
      id,
      title,
      purpose,
      paused: this.isPaused,
      atWork: lanes.filter(({ running }) => running).map(({ key }) => key),
      lastRunMs: this.lastRunMs,
      nextRunMs:
        this.isPaused || nextAtMs.length === 0
          ? null
          : nowMs + Math.max(0, Math.min(...nextAtMs) - this.clock.elapsedMs()),
      lastDecision: this.decisions.last,
      failures: worst?.failures ?? 0,
      lastError: worst?.error ?? null,
      runs: this.runs,
    };
  }

  private laneOf(key: string): Lane {
    const lane = this.lanes.get(key) ?? {
      key,
      running: null,
      cancel: new AbortController(),
      due: false,
      failures: 0,
      error: null,
      failedAtMs: 0,
      nextAtMs: null,
      cancelTimer: null,
    };
    this.lanes.set(key, lane);
    return lane;
  }

  private begin(lane: Lane): void {
    if (lane.running || this.isPaused || this.isStopping) return;
    this.schedule(lane, null);
    lane.due = false;
    lane.cancel = new AbortController();
    // Not synchronously: a run may itself wake its key.
    lane.running = Promise.resolve()
      .then(() => this.runOnce(lane))
      .then((afterMs) => {
        lane.running = null;
        this.goOn(lane, afterMs);
      });
  }

  private goOn(lane: Lane, afterMs: number | 'done' | null): void {
    if (this.isStopping) return;
    if (lane.due && lane.failures === 0) this.begin(lane);
    else if (afterMs === 'done') this.lanes.delete(lane.key);
    else {
      this.schedule(lane, afterMs);
      if (lane.due) this.shortenBackoff(lane);
    }
  }

  private shortenBackoff(lane: Lane): void {
    const { backoff, recovered } = this.definition;
    if (lane.nextAtMs === null || !recovered?.(lane.key)) return;
    const atMs = lane.failedAtMs + backoff.firstMs;
    if (atMs < lane.nextAtMs) this.schedule(lane, Math.max(0, atMs - this.clock.elapsedMs()));
  }

  private schedule(lane: Lane, afterMs: number | null): void {
    lane.cancelTimer?.();
    lane.cancelTimer = null;
    lane.nextAtMs = null;
    if (afterMs === null) return;
    lane.nextAtMs = this.clock.elapsedMs() + afterMs;
    lane.cancelTimer = this.clock.after(afterMs, () => {
      lane.cancelTimer = null;
      lane.nextAtMs = null;
      lane.due = true;
      this.begin(lane);
    });
  }

  /** Returns when the key runs next; null: when it is woken. */
  private async runOnce(lane: Lane): Promise<number | 'done' | null> {
    const { tickMs, deadlineMs, id } = this.definition;
    this.runs++;
    this.lastRunMs = this.clock.nowMs();
    const { cancel } = lane;
    const late = new Error(`took longer than ${deadlineMs / 1000} s`);
    const begin = () =>
      this.clock.after(deadlineMs, () => {
        lane.error = late.message;
        cancel.abort(late);
      });
    let cancelDeadline = begin();
    let isOver = false;
    const holdDeadline = () => {
      cancelDeadline();
      return () => {
        cancelDeadline();
        if (!isOver) cancelDeadline = begin();
      };
    };
    try {
      cancel.signal.throwIfAborted();
      const outcome = await this.definition.run(this.runOf(lane.key, cancel.signal, holdDeadline));
      cancel.signal.throwIfAborted();
      lane.failures = 0;
      lane.error = null;
      return outcome?.again ?? tickMs;
    } catch (error) {
      if (this.isStopping) return null;
      lane.failures++;
      lane.failedAtMs = this.clock.elapsedMs();
      lane.error = (error as Error).message;
      const about = { loop: id, key: lane.key, failures: lane.failures };
      if (isPassing(error) || error === late)
        this.log.warn({ ...about, error: lane.error }, 'a loop run failed and will be retried');
      else this.log.error({ ...about, error }, 'a loop run failed unexpectedly and will be retried');
      return this.backoffMs(lane.failures);
    } finally {
      isOver = true;
      cancelDeadline();
    }
  }

  private backoffMs(failures: number): number {
    const { firstMs, mostMs } = this.definition.backoff;
    return Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 30));
  }

  private runOf(key: string, signal: AbortSignal, holdDeadline: LoopRun['holdDeadline']): LoopRun {
    return {
      key,
      signal,
      step: (work) => orAborted(work, signal),
      holdDeadline,
      decide: (decision) => {
        if (!signal.aborted) this.take(decision);
      },
    };
  }

  private take(decision: Decision): void {
    const news = this.decisions.take(decision, this.clock.nowMs(), this.clock.elapsedMs());
    if (news) this.tell(news);
  }
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
