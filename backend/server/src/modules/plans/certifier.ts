import { Worker } from 'node:worker_threads';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Quality } from '@orrery/contract';
import { unavailable } from '../../platform/problem.js';
import type { CertifyJob } from './certify-worker.js';

/** Proofs at a time: each keeps a core busy. */
const MOST_AT_ONCE = 1;
/** Given to a worker beyond its time limit, to load and to end a step that it began. */
const GRACE_MS = 2000;

/** Runs proofs in a thread of their own that ends with the proof: a solver blocks its thread, and its memory never shrinks. */
@Injectable()
export class Certifier implements OnApplicationShutdown {
  private readonly running = new Set<Worker>();

  /** The plan's figures with tighter bounds; `null` when it was made with other descriptors. 503 while another proof runs. */
  async certify(job: CertifyJob): Promise<Quality[] | null> {
    if (this.running.size >= MOST_AT_ONCE)
      throw unavailable('Another plan is being proven; try again when it is done.');
    const worker = new Worker(new URL('./certify-worker.js', import.meta.url), { workerData: job });
    this.running.add(worker);
    try {
      return await resultOf(worker, job);
    } finally {
      this.running.delete(worker);
      await worker.terminate();
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.running].map((worker) => worker.terminate()));
  }
}

/** When the worker does not end in time, what the plan knew before stands. */
function resultOf(worker: Worker, { input, time_limit_s }: CertifyJob): Promise<Quality[] | null> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(input.plan.quality), time_limit_s * 1000 + GRACE_MS);
    const settle = (done: () => void) => () => {
      clearTimeout(timer);
      done();
    };
    worker.once('message', (quality) => settle(() => resolve(quality))());
    worker.once('error', (error) => settle(() => reject(error))());
    worker.once(
      'exit',
      settle(() => reject(unavailable('The proof was ended.'))),
    );
  });
}
