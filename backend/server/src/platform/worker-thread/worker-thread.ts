import { Worker } from 'node:worker_threads';
import type { JobAnswer } from './serve-jobs.js';

interface ThreadOptions {
  /** Program of the thread, which calls `serveJobs`. */
  readonly file: string;
  /** Maximum number of waiting jobs of each urgency; more are refused. */
  readonly most_waiting: number;
  /** Use a new thread for each job, which frees its memory. Otherwise the thread stays warm between jobs. */
  readonly fresh: boolean;
  readonly memory_mb: number;
}

export type ThreadFailureKind = 'busy' | 'timeout' | 'crashed' | 'stopped' | 'given-up';

/** Why a job has no result. */
export class ThreadFailure extends Error {
  constructor(
    readonly kind: ThreadFailureKind,
    detail: string,
  ) {
    super(detail);
  }
}

/** Urgent jobs are run before all others that wait. */
export type Urgency = 'urgent' | 'normal';

interface Entry<Job, Result> {
  readonly job: Job;
  readonly limit_ms: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (why: ThreadFailure) => void;
}

interface Answering<Result> {
  readonly resolve: (answer: JobAnswer<Result>) => void;
  readonly reject: (why: ThreadFailure) => void;
}

/**
 * Runs jobs one after the other in a thread, off the event loop. A job that takes too long or crashes its thread fails
 * alone; the next one gets a new thread. Jobs and results are copied.
 */
export class WorkerThread<Job, Result> {
  private readonly waiting: Readonly<Record<Urgency, Entry<Job, Result>[]>> = { urgent: [], normal: [] };
  private running: Entry<Job, Result> | null = null;
  private worker: Worker | null = null;
  private settle: Answering<Result> | null = null;
  private isStopped = false;

  constructor(private readonly options: ThreadOptions) {}

  /**
   * `limit_ms` counts from the start of the job. A job that still waits when `signal` aborts is not run. Rejects with
   * `ThreadFailure`.
   */
  run(job: Job, limit_ms: number, urgency: Urgency = 'normal', signal?: AbortSignal): Promise<Result> {
    const waiting = this.waiting[urgency];
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(new ThreadFailure('given-up', 'nobody waits for it any more'));
      if (signal?.aborted) return giveUp();
      if (this.isStopped) return reject(new ThreadFailure('stopped', 'the server is stopping'));
      if (this.running && waiting.length >= this.options.most_waiting)
        return reject(new ThreadFailure('busy', `${waiting.length} jobs are already waiting`));
      const entry = { job, limit_ms, resolve, reject };
      waiting.push(entry);
      const abort = () => {
        const place = waiting.indexOf(entry);
        if (place < 0) return;
        waiting.splice(place, 1);
        giveUp();
      };
      signal?.addEventListener('abort', abort, { once: true });
      this.next();
    });
  }

  /** Fails the running job and all waiting ones. */
  async stop(): Promise<void> {
    this.isStopped = true;
    const { urgent, normal } = this.waiting;
    const left = [...(this.running ? [this.running] : []), ...urgent.splice(0), ...normal.splice(0)];
    this.running = null;
    for (const { reject } of left) reject(new ThreadFailure('stopped', 'the server is stopping'));
    await this.discard();
  }

  private next(): void {
    if (this.running) return;
    const entry = this.waiting.urgent.shift() ?? this.waiting.normal.shift();
    if (!entry) return;
    this.running = entry;
    void this.perform(entry).then(() => {
      if (this.running === entry) this.running = null;
      if (!this.isStopped) this.next();
    });
  }

  private async perform({ job, limit_ms, resolve, reject }: Entry<Job, Result>): Promise<void> {
    try {
      const answer = await this.answerTo(job, limit_ms);
      if ('result' in answer) resolve(answer.result);
      else reject(new ThreadFailure('crashed', answer.failure));
    } catch (error) {
      // First, because a thread in machine code may take seconds to end, and on a busy machine far longer.
      reject(error instanceof ThreadFailure ? error : new ThreadFailure('crashed', String(error)));
      await this.discard();
    }
    if (this.options.fresh) await this.discard();
  }

  private async answerTo(job: Job, limit_ms: number): Promise<JobAnswer<Result>> {
    this.worker ??= this.start();
    const worker = this.worker;
    let timer: NodeJS.Timeout | undefined;
    // Keeps the process alive only while a job runs.
    worker.ref();
    try {
      return await new Promise<JobAnswer<Result>>((resolve, reject) => {
        timer = setTimeout(() => reject(new ThreadFailure('timeout', `no answer within ${limit_ms} ms`)), limit_ms);
        this.settle = { resolve, reject };
        worker.postMessage(job);
      });
    } finally {
      clearTimeout(timer);
      this.settle = null;
      worker.unref();
    }
  }

  private start(): Worker {
    const { file, memory_mb } = this.options;
    const worker = new Worker(file, { resourceLimits: { maxOldGenerationSizeMb: memory_mb } });
    const lost = (detail: string) => {
      if (this.worker !== worker) return;
      this.worker = null;
      this.settle?.reject(new ThreadFailure('crashed', detail));
    };
    worker.on('message', (answer: JobAnswer<Result>) => {
      if (this.worker === worker) this.settle?.resolve(answer);
    });
    worker.on('error', (error: Error) => lost(error.message));
    worker.on('exit', (code) => lost(`the thread ended with ${code}`));
    return worker;
  }

  private async discard(): Promise<void> {
    const { worker } = this;
    this.worker = null;
    this.settle?.reject(new ThreadFailure('stopped', 'the server is stopping'));
    await worker?.terminate();
  }
}
