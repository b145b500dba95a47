import type { PlanOptions } from '@orrery/contract';

/** A decision of the planner with several alternatives. */
export type Dimension = 'strategy' | 'chaining' | 'parallelization' | 'scheduling';

interface Choice {
  readonly value: string;
  readonly label: string;
  /** What the alternative does, in one line. */
  readonly note: string;
}

export const DIMENSIONS: Readonly<Record<Dimension, { readonly label: string; readonly choices: readonly Choice[] }>> =
  {
    strategy: {
      label: 'Placement',
      choices: [
        { value: 'e2', label: 'E2', note: 'Least traffic between servers: packs, then swaps while it helps.' },
        { value: 'packing', label: 'Depth-first packing', note: 'Fills one server after the other along the chain.' },
        {
          value: 'first-fit-decreasing',
          label: 'First fit decreasing',
          note: 'The largest first, each where it fits.',
        },
        { value: 'first-fit', label: 'First fit', note: 'Each where it fits first.' },
        { value: 'random', label: 'Random', note: 'Anywhere it fits; the seed decides.' },
      ],
    },
    chaining: {
      label: 'Flow chaining',
      choices: [
        { value: 'hyper', label: 'HYPER', note: 'The lowest-latency path through the instances, given their load.' },
        { value: 'stratos', label: 'Stratos-like', note: 'Spreads flows by load, near instances first.' },
        { value: 'function-only', label: 'Function only', note: 'Any instance of the right function.' },
        { value: 'random', label: 'Random', note: 'A random instance of each function; the seed decides.' },
      ],
    },
    parallelization: {
      label: 'Parallelization',
      choices: [
        { value: 'orrery', label: 'Orrery (exact)', note: 'The quickest parallel form, found by exact search.' },
        { value: 'fewest-bins', label: 'Fewest bins (exact)', note: 'The fewest branches, found by exact search.' },
        { value: 'first-fit', label: 'First fit', note: 'Each NF into the first branch that it may join.' },
        {
          value: 'overload-and-remove',
          label: 'Overload and remove',
          note: 'Overfills branches, then removes the excess.',
        },
        { value: 'genetic', label: 'Genetic', note: 'Evolves a population of packings; the seed decides.' },
        { value: 'parabox', label: 'Full (ParaBox)', note: 'Everything that may run in parallel does.' },
        { value: 'sequential', label: 'Sequential', note: 'One NF after the other.' },
      ],
    },
    scheduling: {
      label: 'Scheduling',
      choices: [
        { value: 'alpine', label: 'Alpine', note: 'The fewest tasks that meet every objective between classes.' },
        { value: 'semi-manual', label: 'Semi-manual', note: 'A queue at every branch.' },
        { value: 'manual', label: 'Manual', note: 'Classifies first, then one task for each class.' },
        { value: 'run-to-completion', label: 'Run to completion', note: 'One task carries each packet to the end.' },
      ],
    },
  };

export const DIMENSION_NAMES = Object.keys(DIMENSIONS) as Dimension[];

export const MODES = [
  {
    value: 'constrained',
    label: 'Constrained',
    note: 'No task is granted more packets than arrive, so no cycle is spent polling an empty queue.',
  },
  {
    value: 'free',
    label: 'Free',
    note: 'Tasks may poll empty queues: an objective may be met by cycles that process no packet.',
  },
] as const;

/** Default options. */
export const DEFAULT_OPTIONS: PlanOptions = {
  strategy: 'e2',
  chaining: 'hyper',
  parallelization: 'orrery',
  scheduling: 'alpine',
  scheduling_mode: 'constrained',
  seed: 1,
};

export function choiceLabel(dimension: Dimension, value: string): string {
  return DIMENSIONS[dimension].choices.find((choice) => choice.value === value)?.label ?? value;
}
