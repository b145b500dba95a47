import type { Execution, Plan, ScheduleMode } from '@orrery/contract';

/** How a chain runs. */
export interface RunOptions {
  readonly execution: Execution;
  readonly schedule: ScheduleMode;
}

/** How a chain runs unless it is asked for something else. */
export const FIRST_RUN: RunOptions = { execution: 'sequential', schedule: 'round-robin' };

export type RunDimension = keyof RunOptions;

/** Words for how a chain runs: as a state, and as what a button does. */
export const RUN_WORDS: Readonly<Record<RunDimension, Readonly<Record<string, { does: string; runs: string }>>>> = {
  execution: {
    sequential: { does: 'Run in sequence', runs: 'in sequence' },
    parallel: { does: 'Run in parallel', runs: 'in parallel' },
  },
  schedule: {
    'round-robin': { does: 'Serve in turn', runs: 'served in turn' },
    planned: { does: 'Serve as scheduled', runs: 'served as scheduled' },
    split: { does: 'Split over several cores', runs: 'scheduled over several cores' },
  },
};

/** What a dialog asks for. */
export interface RunRequest {
  readonly title: string;
  readonly confirm: string;
  readonly version: number;
  readonly options: Partial<RunOptions>;
}

/** How a running chain runs in a plan. */
export function runOptionsOf({ chains }: Pick<Plan, 'chains'>, chainId: string): RunOptions {
  const planned = chains.find(({ chain_id }) => chain_id === chainId);
  return {
    execution: planned?.execution ?? FIRST_RUN.execution,
    schedule: planned?.schedule ?? FIRST_RUN.schedule,
  };
}
