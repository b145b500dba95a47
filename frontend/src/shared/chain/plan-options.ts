import type { PlanOptions } from '@orrery/contract';
import { DEFAULT_OPTIONS } from '../plan/plan-choices.js';
import type { RunOptions } from './run-options.js';

/** What the plan in force was made with, so that nothing else changes; a strategy that can run NFs in parallel, where that is asked. */
export function planOptionsOf(base: PlanOptions, { execution }: Partial<RunOptions>): PlanOptions {
  const { strategy, chaining, parallelization, scheduling, scheduling_mode, seed } = base;
  const isUseless = execution === 'parallel' && parallelization === 'sequential';
  return {
    strategy,
    chaining,
    parallelization: isUseless ? DEFAULT_OPTIONS.parallelization : parallelization,
    scheduling,
    scheduling_mode,
    seed,
  };
}
