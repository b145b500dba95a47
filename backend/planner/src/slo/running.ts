import type { Calibration, Infrastructure, NfDescriptor, Plan } from '@orrery/contract';
import type { Budget } from '../budget.js';
import { binsOf } from '../placement/problem.js';
import { type MeasuredLatency, type MeasuredOverhead, measuredOverhead } from './calibrate.js';
import { predictSlos } from './predict.js';

/** A plan that runs, and what it was made from. */
export interface RunningPlan {
  readonly plan: Pick<Plan, 'chains' | 'pgraph' | 'graph'>;
  readonly descriptors: readonly NfDescriptor[];
  readonly infrastructure: Infrastructure;
  readonly calibration: Calibration;
}

/** The plan's objectives, as they are predicted with this calibration. Errors: `OutOfTime`. */
export function predictRunning({ plan, ...about }: RunningPlan, time: Pick<Budget, 'expired'> = {}): Plan['slos'] {
  const { chains, pgraph, graph } = plan;
  return predictSlos({ ...about, chains, pgraph, graph, bins: binsOf(about.infrastructure) }, time);
}

/** What a window of measurement of one of the plan's chains says about its overhead; null: nothing. */
export function overheadMeasured(
  { plan, ...about }: RunningPlan,
  chainId: string,
  measured: MeasuredLatency,
): MeasuredOverhead | null {
  return measuredOverhead({ ...about, chains: plan.chains, graph: plan.graph }, chainId, measured);
}
