import type { Plan } from '@orrery/contract';
import type { Api } from './api-caller.js';

/** Throws with the first reason why it cannot be deployed. */
export function requireFeasible({ feasible, problems, conflicts }: Plan): void {
  if (feasible) return;
  const [why] = [
    ...problems.filter(({ severity }) => severity === 'error').map(({ message }) => message),
    ...conflicts.map(({ constraint, where }) => `${where}: ${constraint}`),
  ];
  throw new Error(`there is no such plan: ${why}`);
}

/** Throws where the operation has failed. */
export async function isCarriedOut(api: Api, id: string): Promise<boolean> {
  const { state, error } = await api.call('getOperation', { params: { id } });
  if (state === 'FAILED' || state === 'ROLLED_BACK') throw new Error(error?.detail ?? 'the deployment failed');
  return state === 'COMPLETED' || state === 'PARTIALLY_COMPLETED';
}
