import type { Reconfiguration } from '@orrery/contract';
import type { PlanChange } from '../../../ports/deployer.js';
import { type Decision, isOffBoards } from '../decision/decision.js';
import { nameOf, placeText } from '../places.js';

/** The changes that a reconfiguration can request, each at most once. */
export type ChangeName = 'update' | 'configuration' | 'back-to-software' | 'back-to-board';

/** Deterministic, so that a change accepted just before a restart is found and not requested again. */
export function operationIdOf(runId: string, change: ChangeName): string {
  return `${runId}.${change}`;
}

export interface Change {
  readonly stage: Extract<ChangeName, 'update' | 'configuration'>;
  readonly request: PlanChange;
  /** Whether this change steers the traffic to its final place. */
  readonly leads: boolean;
}

/** The changes to make, in order. */
export function changesOf({ leave, load, move }: Decision): Change[] {
  const changes: Change[] = [];
  // Without either list, everything that does not work moves to software.
  if (leave.length > 0 || load.length === 0)
    changes.push({
      stage: 'update',
      request: leave.length > 0 ? { implementations: [...leave], ...(move ? { move } : {}) } : {},
      leads: load.length === 0,
    });
  if (load.length > 0) changes.push({ stage: 'configuration', request: { implementations: [...load] }, leads: true });
  return changes;
}

/** Description of what a stage does. */
export function detailOf(
  stage: Change['stage'] | 'response',
  { load, moves, ...run }: Pick<Reconfiguration, 'moves' | 'load' | 'slot'>,
): string {
  const leaving = moves.filter(isOffBoards);
  const loaded = moves.find((move) => !isOffBoards(move));
  switch (stage) {
    case 'update':
      return leaving.map(({ nf, to }) => `${nf} to ${placeText(to)}`).join(', ');
    case 'configuration':
      return `${loaded?.nf ?? 'module'}, ${load} load of ${run.slot ? nameOf(run.slot) : 'a slot'}`;
    case 'response':
      return `traffic steered to ${loaded ? 'the board' : (leaving[0]?.to.on ?? 'software')}`;
  }
}
