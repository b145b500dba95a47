import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Plan } from '@orrery/contract';
import { LOG, type Log } from '../../platform/log.js';
import { invalid, ProblemError, unavailable } from '../../platform/problem.js';
import { ThreadFailure, WorkerThread } from '../../platform/worker-thread/worker-thread.js';
import type { PlanJob, PlanJobResult } from './plan-thread.js';
import { threadFile } from './thread-file.js';

/** Bounds the local search for a better placement, to keep planning within milliseconds. */
const SEARCH_STEPS = 2000;
/** After this time a plan omits what is not needed to deploy it, and says so. */
const SOFT_LIMIT_MS = 1000;
/** After this time the planner counts as hung. */
const HARD_LIMIT_MS = 20_000;
const MOST_WAITING = 32;
const MEMORY_MB = 1024;

/** A plan with its JSON. */
export interface MadePlan {
  readonly plan: Plan;
  readonly text: string;
}

/** Makes plans in a thread, to keep the event loop free. */
@Injectable()
export class Planner implements OnApplicationShutdown {
  private readonly thread = new WorkerThread<PlanJob, PlanJobResult>({
    file: threadFile('plan-thread'),
    most_waiting: MOST_WAITING,
    fresh: false,
    memory_mb: MEMORY_MB,
  });

  constructor(@Inject(LOG) private readonly log: Log) {}

  /** Throws 422 for input that is too large or invalid, 503 if no planner is free, 500 if it fails. */
  async plan(input: PlanJob['input']): Promise<MadePlan> {
    const job = { input, search_steps: SEARCH_STEPS, soft_limit_ms: SOFT_LIMIT_MS };
    const answer = await this.thread.run(job, HARD_LIMIT_MS).catch((error) => this.refuse(error, input.id));
    if ('field' in answer) throw invalid([{ pointer: answer.field, detail: answer.detail, code: 'cannot-be-planned' }]);
    return { plan: JSON.parse(answer.plan) as Plan, text: answer.plan };
  }

  private refuse(error: unknown, id: string): never {
    if (!(error instanceof ThreadFailure)) throw error;
    if (error.kind === 'busy') throw unavailable('Too many plans are queued; try again soon.');
    if (error.kind === 'stopped') throw unavailable('The server is stopping.');
    this.log.error({ plan: id, detail: error.message }, 'the planner failed');
    if (error.kind === 'timeout')
      throw new ProblemError(503, `The planner gave no answer within ${HARD_LIMIT_MS / 1000} s.`);
    throw new ProblemError(500, 'The planner failed; see the server log.');
  }

  onApplicationShutdown(): Promise<void> {
    return this.thread.stop();
  }
}
