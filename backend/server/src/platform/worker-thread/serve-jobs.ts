import { parentPort } from 'node:worker_threads';

/** Answer of a thread to a job. */
export type JobAnswer<Result> = { readonly result: Result } | { readonly failure: string };

/** The thread's side: runs one job at a time and answers each. A job that throws fails alone; the thread continues. */
export function serveJobs<Job, Result>(work: (job: Job) => Result | Promise<Result>): void {
  const port = parentPort!;
  port.on('message', (job: Job) => {
    void answer(job).then((it) => port.postMessage(it));
  });

  async function answer(job: Job): Promise<JobAnswer<Result>> {
    try {
      return { result: await work(job) };
    } catch (error) {
      return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    }
  }
}
