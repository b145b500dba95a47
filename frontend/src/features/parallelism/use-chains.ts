import type { Deployment, Execution, Plan } from '@orrery/contract';
import { useQueries } from '@tanstack/react-query';
import { storedPlanQuery, useChains, useDeployments, useOperations } from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import { lastSwitch, type RunSwitch } from '../../shared/chain/run-switches.js';
import { type PredictedLatency, predictedLatency } from '../../shared/plan/predicted-latency.js';
import { type ChainRow, chainRows } from './chain-rows.js';
import { useMeasuredBefore } from './measured-before.js';
import type { MeasuredLatency } from './measured-latency.js';
import { type Trial, type TrialResult, useTrials } from './other-executions.js';

/** What is known of a chain in one execution. */
export interface InExecution {
  /** The plan that it runs by, or a trial. */
  readonly plan: Plan | undefined;
  /** Null: not predicted (yet), or it cannot run so. */
  readonly predicted: PredictedLatency | null;
  readonly error: unknown;
  readonly isPending: boolean;
}

/** A row with its plans, predictions and what it measured before. */
export interface KnownChain {
  readonly row: ChainRow;
  /** The plan that it runs by. */
  readonly plan: Plan | undefined;
  readonly in: Readonly<Record<Execution, InExecution>>;
  /** In the other execution than the one in which it runs; null: not known. */
  readonly measuredBefore: MeasuredLatency | null;
  /** When its execution was last changed; null: not known to have been. */
  readonly changed_ms: number | null;
}

const UNKNOWN: InExecution = { plan: undefined, predicted: null, error: null, isPending: false };

/** Every chain, and for the selected draft trials of both executions. */
export function useKnownChains(selectedOf: (rows: readonly ChainRow[]) => ChainRow | undefined) {
  const chains = useChains();
  const deployments = useDeployments();
  const operations = useOperations();
  const mayPlan = useMay('operator');
  const ids = [...new Set(deployments.data?.map(({ plan_id }) => plan_id))];
  const plans = useQueries({ queries: ids.map((id) => storedPlanQuery(id)) });
  const planOf = ({ plan_id }: Deployment) => plans[ids.indexOf(plan_id)]?.data;
  const rows = chainRows(chains.data ?? [], deployments.data ?? [], planOf);
  const selected = selectedOf(rows);
  const inForce = rows.flatMap(({ deployment }) => (deployment?.state === 'running' ? [deployment] : []))[0];
  const base = inForce && planOf(inForce);
  const trials = mayPlan ? rows.flatMap((row) => trialsOf(row, row === selected, chains.data)) : [];
  const results = useTrials(trials, base);
  const listed = operations.data?.items ?? [];
  const switches = rows.map((row) => ({ id: row.id, change: row.deployment ? lastSwitch(listed, row.id) : null }));
  const before = useMeasuredBefore(switches);
  const known = rows.map((row, i): KnownChain => {
    const plan = row.deployment ? planOf(row.deployment) : undefined;
    const tried = (execution: Execution) => triedIn(trials, results, row.id, execution);
    const running = row.execution && plan ? ofPlan(row.id, plan) : null;
    const inOf = (execution: Execution): InExecution => {
      if (row.execution !== execution || !running) return tried(execution);
      return row.canGain ? { ...running, predicted: tried(execution).predicted } : running;
    };
    return {
      row,
      plan,
      in: { sequential: inOf('sequential'), parallel: inOf('parallel') },
      measuredBefore: isFromOther(row, switches[i]!.change) ? (before[i] ?? null) : null,
      changed_ms: switches[i]!.change?.operation.updated_ms ?? null,
    };
  });
  return { chains, deployments, known, selected: known.find(({ row }) => row === selected) };
}

/**
 * What is planned to compare a chain with: both executions of one that could gain and of the selected draft. That in which
 * it runs, too, because the model is calibrated anew all the time, and only predictions of one calibration compare.
 */
function trialsOf(
  { id, execution, canGain, deployment }: ChainRow,
  isSelected: boolean,
  chains: readonly { readonly id: string; readonly revision: number }[] | undefined,
): Trial[] {
  const revision = chains?.find((chain) => chain.id === id)?.revision ?? 0;
  const trial = (wanted: Execution): Trial => ({
    chain_id: id,
    version: deployment?.version ?? 0,
    revision: deployment ? 0 : revision,
    execution: wanted,
  });
  const isCompared = execution ? canGain : isSelected && !deployment;
  return isCompared ? [trial('sequential'), trial('parallel')] : [];
}

function triedIn(
  trials: readonly Trial[],
  results: readonly TrialResult[],
  id: string,
  execution: Execution,
): InExecution {
  const result = results[trials.findIndex((trial) => trial.chain_id === id && trial.execution === execution)];
  if (!result) return UNKNOWN;
  const { plan, error, isPending } = result;
  return plan ? ofPlan(id, plan) : { ...UNKNOWN, error, isPending };
}

function ofPlan(id: string, plan: Plan): InExecution {
  return { ...UNKNOWN, plan, predicted: plan.feasible ? predictedLatency(plan, id) : null };
}

/** Whether what was measured before the change was in the other execution. */
function isFromOther({ execution }: ChainRow, change: RunSwitch | null): boolean {
  return change !== null && execution !== null && change.before.execution !== execution;
}
