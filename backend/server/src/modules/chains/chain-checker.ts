import { createRequire } from 'node:module';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { ChainDefinition, ChainProblem } from '@orrery/contract';
import { CHECK_STEPS, type ChainContext, validateChain } from '@orrery/planner';
import { LOG, type Log } from '../../platform/log.js';
import { ProblemError, unavailable } from '../../platform/problem.js';
import { OutOfTime, withinMs } from '../../platform/time-limit.js';
import { ThreadFailure, type Urgency, WorkerThread } from '../../platform/worker-thread/worker-thread.js';
import type { CheckJob } from './check-thread.js';

/** Filter terms up to which a check begins on the event loop; most chains in use are checked there, in milliseconds. */
const MOST_TERMS = 64;
/** Looks at the clock, about a thousand steps apart, after which it is done in the thread all the same. */
const MOST_LOOKS = 1;
/** The same for patterns of descriptions, in which nobody looks at a clock. */
const MOST_MS = 100;
const HARD_LIMIT_MS = 20_000;
const MOST_WAITING = 64;
const MEMORY_MB = 512;

/** Checks chains: what takes more than a few milliseconds in a thread, to keep the event loop free. */
@Injectable()
export class ChainChecker implements OnApplicationShutdown {
  private readonly thread = new WorkerThread<CheckJob, ChainProblem[]>({
    file: createRequire(import.meta.url).resolve('@orrery/server/threads/check-thread'),
    most_waiting: MOST_WAITING,
    fresh: false,
    memory_mb: MEMORY_MB,
  });

  constructor(@Inject(LOG) private readonly log: Log) {}

  /** Throws 503 if too many checks of this urgency wait, 500 if the check fails. */
  async problemsOf(
    definition: ChainDefinition,
    context: ChainContext,
    urgency: Urgency = 'normal',
  ): Promise<ChainProblem[]> {
    const terms = definition.edges.reduce((sum, { filter }) => sum + filter.length, 0);
    if (terms <= MOST_TERMS) {
      const problems = this.checkedAtOnce(definition, context);
      if (problems) return problems;
    }
    return this.thread.run({ definition, context }, HARD_LIMIT_MS, urgency).catch((error) => this.refuse(error));
  }

  /** Null: it takes too long for the event loop. */
  private checkedAtOnce(definition: ChainDefinition, context: ChainContext): ChainProblem[] | null {
    let looks = 0;
    const budget = { steps: CHECK_STEPS, expired: () => ++looks > MOST_LOOKS };
    try {
      const problems = withinMs(MOST_MS, () => validateChain(definition, context, budget));
      return looks <= MOST_LOOKS ? problems : null;
    } catch (error) {
      if (error instanceof OutOfTime) return null;
      throw error;
    }
  }

  private refuse(error: unknown): never {
    if (!(error instanceof ThreadFailure)) throw error;
    if (error.kind === 'busy') throw unavailable('Too many chains are being checked; try again soon.');
    if (error.kind === 'stopped') throw unavailable('The server is stopping.');
    this.log.error({ detail: error.message }, 'the check of a chain failed');
    throw new ProblemError(500, 'The check of the chain failed; see the server log.');
  }

  onApplicationShutdown(): Promise<void> {
    return this.thread.stop();
  }
}
