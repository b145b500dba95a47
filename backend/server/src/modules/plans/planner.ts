import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { MOST_TIME_LIMIT_S, type Plan } from '@orrery/contract';
import { sameContent } from '@orrery/planner';
import { LOG, type Log } from '../../platform/log.js';
import { Pace } from '../../platform/pace.js';
import { invalid, ProblemError, unavailable } from '../../platform/problem.js';
import { SharedValues } from '../../platform/worker-thread/shared-values.js';
import { ThreadFailure, type Urgency, WorkerThread } from '../../platform/worker-thread/worker-thread.js';
import type { CompareLimits, PlacementComparison } from '../../ports/plan-store.js';
import { type Planned, sentInput } from './plan-job.js';
import type { PlanJob, PlanJobResult } from './plan-thread.js';
import { threadFile } from './thread-file.js';

/** Bounds the local search for a better placement, to keep planning within milliseconds. */
const SEARCH_STEPS = 2000;
/** After this time, or half of the time limit, a plan omits what is not needed to deploy it, and says so. */
const LATE_MS = 1000;
/** Where the request names no limit: some times what the largest plans need. */
const TIME_LIMIT_S = 10;
/** A plan waits for a comparison under way, at most so long. */
const COMPARE_LIMIT_S = 2;
/** After this time the planner counts as hung: beyond every time limit. */
const HARD_LIMIT_MS = 20_000;
const MOST_WAITING = 32;
const MEMORY_MB = 1024;

/** A plan with its JSON. */
export interface MadePlan {
  readonly plan: Plan;
  readonly text: string;
}

/** Makes plans in a thread, to keep the event loop free. Comparisons wait for all plans. */
@Injectable()
export class Planner implements OnApplicationShutdown {
  private readonly thread = new WorkerThread<PlanJob, PlanJobResult>({
    file: threadFile('plan-thread'),
    most_waiting: MOST_WAITING,
    fresh: false,
    memory_mb: MEMORY_MB,
  });

  /** Of each urgency: among themselves, jobs keep their order. */
  private readonly shared: Readonly<Record<Urgency, SharedValues>> = {
    urgent: new SharedValues(),
    normal: new SharedValues(),
  };

  constructor(@Inject(LOG) private readonly log: Log) {}

  /**
   * Throws 422 for input that is too large or invalid or that the time limit does not suffice for, 503 if no planner is
   * free, 500 if it fails.
   */
  async plan(input: Planned, time_limit_s = TIME_LIMIT_S): Promise<MadePlan> {
    const answer = await this.answerTo(input, time_limit_s, 'urgent');
    if (!('plan' in answer)) return refused(answer, time_limit_s);
    this.shared.urgent.isKept('base', input.id);
    const pace = new Pace();
    const plan = await withKnownRules(JSON.parse(answer.plan) as Plan, input.base, pace);
    return { plan, text: answer.plan };
  }

  /** Throws as `plan`, 503 where the time does not suffice. One that still waits when `signal` aborts is not made. */
  async compare(input: Planned, compare: CompareLimits, signal?: AbortSignal): Promise<PlacementComparison> {
    const answer = await this.answerTo(input, COMPARE_LIMIT_S, 'normal', { compare, signal });
    if ('comparison' in answer) return answer.comparison;
    if ('failed' in answer && answer.failed === 'out-of-time')
      throw unavailable(`${COMPARE_LIMIT_S} s did not suffice to compare what runs with other placements.`);
    return refused(answer, COMPARE_LIMIT_S);
  }

  /** A thread that was started anew is told everything again. */
  private async answerTo(
    input: Planned,
    time_limit_s: number,
    urgency: Urgency,
    { compare, signal }: { readonly compare?: CompareLimits; readonly signal?: AbortSignal | undefined } = {},
  ): Promise<PlanJobResult> {
    const limit_ms = 1000 * time_limit_s;
    const late_ms = Math.min(LATE_MS, limit_ms / 2);
    const shared = this.shared[urgency];
    const run = () => {
      const limits = { search_steps: SEARCH_STEPS, late_ms, limit_ms };
      const job = { input: sentInput(input, shared), ...limits, ...(compare ? { compare } : {}) };
      return this.thread.run(job, HARD_LIMIT_MS, urgency, signal).catch((error) => {
        // What it was to bring to the thread is not there.
        if (isGivenUp(error)) shared.forget();
        return this.refuse(error, input.id);
      });
    };
    const answer = await run();
    if (!('failed' in answer) || answer.failed !== 'not-kept') return answer;
    shared.forget();
    return run();
  }

  private refuse(error: unknown, id: string): never {
    if (!(error instanceof ThreadFailure)) throw error;
    if (error.kind === 'busy') throw unavailable('Too many plans are queued; try again soon.');
    if (error.kind === 'given-up') throw unavailable('The comparison was given up before its turn came.');
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

/** A rule that stays as it is in the base is that very object: of thousands, few are compared or lowered again. */
async function withKnownRules(plan: Plan, base: Plan | null, pace: Pace): Promise<Plan> {
  const known = new Map(base?.fabric.rules.map((rule) => [rule.id, rule]));
  const rules: Plan['fabric']['rules'] = [];
  for (const rule of plan.fabric.rules) {
    const before = known.get(rule.id);
    rules.push(before && sameContent(before, rule) ? before : rule);
    await pace.breathe();
  }
  return { ...plan, fabric: { ...plan.fabric, rules } };
}

const isGivenUp = (error: unknown) => error instanceof ThreadFailure && error.kind === 'given-up';

function refused(answer: PlanJobResult, time_limit_s: number): never {
  if ('field' in answer) throw invalid([{ pointer: answer.field, detail: answer.detail, code: 'cannot-be-planned' }]);
  if ('failed' in answer && answer.failed === 'not-kept') throw unavailable('The planner was started anew; try again.');
  const detail = `${time_limit_s} s did not suffice to make the plan; raise the time limit, at most to ${MOST_TIME_LIMIT_S} s`;
  throw invalid([{ pointer: '/time_limit_s', detail, code: 'out-of-time' }]);
}
