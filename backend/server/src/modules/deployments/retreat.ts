import type { EventDraft, Operation } from '@orrery/contract';
import type { Phase } from '@orrery/planner';
import { nextPhase, targetOf } from './desired-in.js';
import type { Desired, DesiredChange, DesiredStore, Retreat } from './desired-store.js';
import { rollingBack } from './operation-steps.js';

type State = Pick<DesiredStore, 'desired' | 'planInForce'>;
type Exists = (server: string) => boolean;

/** The operation begins to be taken back: what runs becomes what is in force, by the same phases as any change. */
export function retreating(
  state: State,
  exists: Exists,
  operation: Operation,
  retreat: Retreat,
  nowMs: number,
  by?: string,
): DesiredChange {
  const event: EventDraft = {
    type: 'operation.rolling-back',
    subject: operation.id,
    message: retreat.why,
    ...(by === undefined ? {} : { actor: by }),
    data: { chain_id: operation.subject },
  };
  return {
    desired: { ...nextBack(state, 'prepare', exists, nowMs), retreat },
    plan: state.planInForce,
    operations: [rollingBack(operation, retreat.why, nowMs)],
    events: [event],
  };
}

/** The desired state in the next phase of the way back that changes something. */
export function nextBack({ desired, planInForce }: State, wanted: Phase, exists: Exists, nowMs: number): Desired {
  const back = (desired.drivers ?? []).map(({ from, to, ...rest }) => ({ ...rest, from: to, to: from }));
  const target = { ...targetOf(desired.operation_id!, planInForce, back), abandoned: [] };
  return nextPhase(desired, wanted, target, exists, nowMs).desired;
}
