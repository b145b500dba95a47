import type { LoadResult, Reconfiguration } from '@orrery/contract';
import type { PlanChange } from '../../ports/deployer.js';
import { type Decision, isOffBoards, nameOf } from './decision.js';

/**
 * What a reconfiguration that is not over set out to do. It is stored before the first change is asked for: with the record
 * and its operations it is all that is needed to go on after a restart, or to take back what was done.
 */
export interface Course {
  readonly decision: Decision;
  /** Who asked, and how important that is. */
  readonly by: string;
  readonly priority: number;
  /** Id of the plan in force before; null: nothing ran. */
  readonly plan_before: string | null;
  /** The latest load of each board before. */
  readonly loads_before: Readonly<Record<string, LoadResult | null>>;
  /** Why it is being taken back; null: it is not. */
  readonly failure: string | null;
}

/** The changes that a reconfiguration can ask for, each at most once. */
export type ChangeName = 'update' | 'configuration' | 'back-to-software' | 'back-to-board';

/** Known before the change is asked for, so that one that was accepted just before a restart is found and not asked for again. */
export function operationIdOf(runId: string, change: ChangeName): string {
  return `${runId}.${change}`;
}

export interface Change {
  readonly stage: Extract<ChangeName, 'update' | 'configuration'>;
  readonly request: PlanChange;
  /** Whether this change leads the reconfiguration's traffic to where it is to be. */
  readonly leads: boolean;
}

/** The changes that are to be made, in this order. */
export function changesOf({ leave, load }: Decision): Change[] {
  const changes: Change[] = [];
  // Without either list everything that does not work goes back to software.
  if (leave.length > 0 || load.length === 0)
    changes.push({
      stage: 'update',
      request: leave.length > 0 ? { implementations: [...leave] } : {},
      leads: load.length === 0,
    });
  if (load.length > 0) changes.push({ stage: 'configuration', request: { implementations: [...load] }, leads: true });
  return changes;
}

/** What is done in a stage, in words. */
export function detailOf(
  stage: Change['stage'] | 'response',
  { load, moves, ...run }: Pick<Reconfiguration, 'moves' | 'load' | 'slot'>,
): string {
  const leaving = moves.filter(isOffBoards);
  const loaded = moves.find((move) => !isOffBoards(move));
  switch (stage) {
    case 'update':
      return leaving.map(({ nf, to }) => `${nf} to ${to}`).join(', ');
    case 'configuration':
      return `${loaded?.nf ?? 'module'}, ${load} load of ${run.slot ? nameOf(run.slot) : 'a slot'}`;
    case 'response':
      return `traffic led to ${loaded ? 'the board' : (leaving[0]?.to ?? 'software')}`;
  }
}
