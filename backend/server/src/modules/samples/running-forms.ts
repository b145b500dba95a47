import { nfInstances, type Plan } from '@orrery/contract';

/** Tells of which chains something else runs: another version, other instances or other places. */
export class RunningForms {
  private plan: Plan | null = null;
  private forms: ReadonlyMap<string, string> = new Map();

  /** The chains of the plan that differ from those of the plan before. */
  follow(plan: Plan | null): string[] {
    if (plan === this.plan) return [];
    const before = this.forms;
    this.plan = plan;
    this.forms = new Map((plan?.chains ?? []).map(({ chain_id }) => [chain_id, formOf(plan!, chain_id)]));
    return [...this.forms].flatMap(([chainId, form]) => (before.get(chainId) === form ? [] : [chainId]));
  }
}

function formOf({ chains, graph }: Plan, chainId: string): string {
  const { version, execution } = chains.find(({ chain_id }) => chain_id === chainId)!;
  const places = nfInstances(graph)
    .filter(({ chain_id }) => chain_id === chainId)
    .map(({ id, server, core, driver }) => [id, server, core, driver]);
  return JSON.stringify([version, execution, places]);
}
