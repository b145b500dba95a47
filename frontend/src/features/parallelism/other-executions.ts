import type { Execution, Plan } from '@orrery/contract';
import { useQueries } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { planOptionsOf } from '../../shared/chain/plan-options.js';

/** A chain that is planned in another way than it runs, for comparison. */
export interface Trial {
  readonly chain_id: string;
  /** 0: the draft. */
  readonly version: number;
  /** Of the draft; another revision is another trial. */
  readonly revision: number;
  readonly execution: Execution;
}

/** A plan that takes longer is not worth the wait: what runs is not affected by it. */
const TIME_LIMIT_S = 5;

let last: Promise<unknown> = Promise.resolve();

/** One after the other, so that a page with many chains leaves the planner to others in between. */
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const run = last.then(work, work);
  last = run.catch(() => undefined);
  return run;
}

export type TrialResult = { readonly plan: Plan | undefined; readonly error: unknown; readonly isPending: boolean };

/** The plan of each trial on top of what runs. It is not stored and cannot be deployed. */
export function useTrials(trials: readonly Trial[], base: Plan | undefined): readonly TrialResult[] {
  const results = useQueries({
    queries: trials.map((trial) => ({
      queryKey: ['trial', base?.id ?? null, trial],
      staleTime: 'static' as const,
      retry: false,
      queryFn: ({ signal }: { signal: AbortSignal }) => inTurn(() => trialOf(trial, base, signal)),
    })),
  });
  return results.map(({ data, error, isPending }) => ({ plan: data, error, isPending }));
}

function trialOf({ chain_id, version, execution }: Trial, base: Plan | undefined, signal: AbortSignal): Promise<Plan> {
  signal.throwIfAborted();
  const body = {
    chains: [{ chain_id, version, execution }],
    ...(base && planOptionsOf(base, { execution })),
    time_limit_s: TIME_LIMIT_S,
  };
  return call('previewPlan', { body }, { signal });
}
