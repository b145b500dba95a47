import type { Chain, ChainDefinition, Deployment, Execution, ParallelForm, Plan, PlannedChain } from '@orrery/contract';
import { isParallel } from '../../shared/parallel/why-sequential.js';

/** A chain with what is known of how it runs or could run. */
export interface ChainRow {
  readonly id: string;
  readonly title: string;
  readonly state: Chain['deployment_state'];
  readonly deployment: Deployment | null;
  /** As it runs, or else the draft. */
  readonly definition: ChainDefinition;
  /** How it runs; null: it does not. */
  readonly execution: Execution | null;
  /** Its lines of NFs in the plan that it runs by; empty for a draft. */
  readonly forms: readonly ParallelForm[];
  /** Whether anything of it runs, or could run, in parallel; null: not known, because it was not planned. */
  readonly canGain: boolean | null;
}

/** Deployed chains, and then the others. `planOf`: the plan that a deployment runs by, once it is known. */
export function chainRows(
  chains: readonly Chain[],
  deployments: readonly Deployment[],
  planOf: (deployment: Deployment) => Plan | undefined,
): ChainRow[] {
  const rows = chains.map((chain) => {
    const deployment = deployments.find(({ chain_id }) => chain_id === chain.id) ?? null;
    const plan = deployment ? planOf(deployment) : undefined;
    return rowOf(chain, deployment, plan);
  });
  return rows.toSorted((a, b) => Number(a.deployment === null) - Number(b.deployment === null));
}

function rowOf(chain: Chain, deployment: Deployment | null, plan: Plan | undefined): ChainRow {
  const planned: PlannedChain | undefined = plan?.chains.find(({ chain_id }) => chain_id === chain.id);
  const forms = planned ? plan!.parallel.filter(({ chain_id }) => chain_id === chain.id) : [];
  const definition = planned?.definition ?? chain.draft;
  return {
    id: chain.id,
    title: chain.draft.title,
    state: chain.deployment_state,
    deployment,
    definition,
    execution: planned ? (planned.execution ?? 'sequential') : null,
    forms,
    canGain: planned ? forms.some(isParallel) : null,
  };
}

export function otherExecution(execution: Execution): Execution {
  return execution === 'parallel' ? 'sequential' : 'parallel';
}

export function nfCount({ nodes }: ChainDefinition): number {
  return nodes.filter(({ kind }) => kind === 'nf').length;
}
