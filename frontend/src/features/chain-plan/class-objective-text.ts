import type { Plan } from '@orrery/contract';
import { classObjectiveText } from '../../shared/chain/class-objective-text.js';

export function objectiveOf(plan: Plan, chainId: string, sloId: string) {
  const definition = plan.chains.find(({ chain_id }) => chain_id === chainId)?.definition;
  return { definition, slo: definition?.class_slos.find(({ id }) => id === sloId) };
}

/** An objective between classes of a planned chain in words. */
export function plannedObjectiveText(plan: Plan, chainId: string, sloId: string): string {
  const { definition, slo } = objectiveOf(plan, chainId, sloId);
  return definition && slo ? classObjectiveText(definition, slo) : sloId;
}
