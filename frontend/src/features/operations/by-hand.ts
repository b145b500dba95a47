import type { Operation } from '@orrery/contract';
import { DRIVER_TITLES } from '../../shared/switches/switch-text.js';

export type ByHand = 'retry' | 'rollback' | 'cancel';

/** Why the operation cannot be changed by hand in this way; null: it can. */
export function whyNot(action: ByHand, { state }: Pick<Operation, 'state'>, may: boolean): string | null {
  if (!may) return 'Needs the role operator';
  if (state === 'ROLLING_BACK') return 'It is being taken back already';
  if (state !== 'PROCESSING' && state !== 'FAILED_TEMP')
    return `It has ended (${state.toLowerCase().replaceAll('_', ' ')}); deploy the chain again instead`;
  if (action === 'cancel') return state === 'PROCESSING' ? null : 'It waits: roll it back instead';
  if (state === 'PROCESSING') return action === 'retry' ? 'It is in progress' : 'It is in progress: cancel it instead';
  return null;
}

/** What taking the operation back does, for the confirmation. */
export function takeBackText(
  { set_aside, chains, drivers, steps }: Pick<Operation, 'set_aside' | 'chains' | 'drivers' | 'steps'>,
  titleOf: (id: string) => string,
): string {
  if (set_aside) return 'It is set aside: nothing of it runs. It will not be tried again.';
  const switched = drivers.map((change) => `${change.switch} runs ${DRIVER_TITLES[change.from]} again`);
  const back = chains.map(({ chain_id, from_version }) =>
    from_version === null
      ? `${titleOf(chain_id)} is taken down`
      : `${titleOf(chain_id)} runs version ${from_version} again`,
  );
  const steered = steps.some(({ kind, state }) => kind === 'steer-fabric' && state !== 'pending');
  const all = [...back, ...switched];
  const what = all.length > 0 ? `${all.join('; ')}.` : 'What runs becomes what ran before.';
  const changes = steps.some(({ kind, state }) => kind === 'change-driver' && state !== 'pending');
  if (changes) return `${what} It carries nothing once more meanwhile; packets over it are lost.`;
  return steered
    ? `${what} Traffic already takes the new path and is steered back; packets under way may be lost.`
    : `${what} Traffic does not take the new path yet.`;
}
