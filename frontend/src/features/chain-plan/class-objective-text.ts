import type { ClassSlo, Plan } from '@orrery/contract';
import { edgeLabel } from '../../editor-model/diff.js';
import { edgeOf } from '../../editor-model/graph.js';

const KINDS: Record<ClassSlo['kind'], string> = {
  'cpu-time': 'CPU time',
  throughput: 'Throughput',
  priority: 'Priority',
};

export function objectiveOf(plan: Plan, chainId: string, sloId: string) {
  const definition = plan.chains.find(({ chain_id }) => chain_id === chainId)?.definition;
  return { definition, slo: definition?.class_slos.find(({ id }) => id === sloId) };
}

/** An objective between classes in words: `CPU time of A over B`. */
export function classObjectiveText(plan: Plan, chainId: string, sloId: string): string {
  const { definition, slo } = objectiveOf(plan, chainId, sloId);
  if (!definition || !slo) return sloId;
  const name = (id: string) => {
    const edge = edgeOf(definition, id);
    return edge ? edgeLabel(definition, edge) : id;
  };
  return slo.kind === 'priority'
    ? `${name(slo.above)} before ${name(slo.below)}`
    : `${KINDS[slo.kind]} of ${name(slo.a)} over ${name(slo.b)}`;
}
