import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Quality } from '@orrery/contract';
import { unavailable } from '../../platform/problem.js';
import { ThreadFailure, type ThreadFailureKind, WorkerThread } from '../../platform/worker-thread/worker-thread.js';
import type { CertifyJob } from './certify-thread.js';
import { threadFile } from './thread-file.js';

/** Extra time for a proof beyond its limit, to load and to finish its current step. */
const GRACE_MS = 2000;
const MEMORY_MB = 1024;

const REFUSALS: Record<Exclude<ThreadFailureKind, 'timeout'>, string> = {
  busy: 'Another plan is being proven; try again when it is done.',
  stopped: 'The proof was aborted.',
  crashed: 'The proof was aborted.',
  'given-up': 'The proof was aborted.',
};

/** Runs one proof at a time, each in a new thread: a solver blocks its thread, and its memory never shrinks. */
@Injectable()
export class Certifier implements OnApplicationShutdown {
  private readonly thread = new WorkerThread<CertifyJob, Quality[] | null>({
    file: threadFile('certify-thread'),
    most_waiting: 0,
    fresh: true,
    memory_mb: MEMORY_MB,
  });

  /**
   * The plan's figures with tighter bounds, or the plan's own bounds where the proof does not finish in time; null if the
   * plan was made with other descriptors. 503 while another proof runs.
   */
  async certify(job: CertifyJob): Promise<Quality[] | null> {
    try {
      return await this.thread.run(job, job.time_limit_s * 1000 + GRACE_MS);
    } catch (error) {
      if (!(error instanceof ThreadFailure)) throw error;
      if (error.kind === 'timeout') return job.input.plan.quality;
      throw unavailable(REFUSALS[error.kind]);
    }
  }

  onApplicationShutdown(): Promise<void> {
    return this.thread.stop();
  }
}
