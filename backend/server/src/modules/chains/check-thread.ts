import type { ChainDefinition, ChainProblem } from '@orrery/contract';
import { type ChainContext, validateChain } from '@orrery/planner';
import { serveJobs } from '../../platform/worker-thread/serve-jobs.js';

export interface CheckJob {
  readonly definition: ChainDefinition;
  readonly context: ChainContext;
}

serveJobs(({ definition, context }: CheckJob): ChainProblem[] => validateChain(definition, context));
