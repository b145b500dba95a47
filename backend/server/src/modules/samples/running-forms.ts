import type { Plan } from '@orrery/contract';

/** Tells of which chains something else runs: another version, other instances, modules or places. */
export class RunningForms {
  private plan: Plan | null = null;
  private forms: ReadonlyMap<string, string> = new Map();
  private merges: ReadonlySet<string> = new Set();

  /** The chains of the plan that differ from those of the plan before. */
  follow(plan: Plan | null): string[] {
    if (plan === this.plan) return [];
    const before = this.forms;
    this.plan = plan;
    this.forms = new Map((plan?.chains ?? []).map(({ chain_id }) => [chain_id, formOf(plan!, chain_id)]));
    this.merges = new Set(plan?.graph.nodes.flatMap(({ kind, id }) => (kind === 'merge' ? [id] : [])));
    return [...this.forms].flatMap(([chainId, form]) => (before.get(chainId) === form ? [] : [chainId]));
  }

  isMerge(id: string): boolean {
    return this.merges.has(id);
  }
}

function formOf({ chains, graph, on_switches = [] }: Plan, chainId: string): string {
  const { version, execution, schedule } = chains.find(({ chain_id }) => chain_id === chainId)!;
  const places = graph.nodes.flatMap((node) =>
    node.kind === 'exit' || node.chain_id !== chainId
      ? []
      : [[node.id, node.server, node.core, node.kind === 'nf' ? node.driver : node.kind]],
  );
  const switched = on_switches.filter(({ chain_id }) => chain_id === chainId).map(({ id }) => id);
  return JSON.stringify([version, execution, schedule, places, switched]);
}
