import type { Operation, OperationStep, PlanStep } from '@orrery/contract';

export const OPERATION_WORDS: Readonly<Record<Operation['kind'], string>> = {
  deploy: 'Deploy',
  undeploy: 'Take down',
  infrastructure: 'Change infrastructure',
  reconfigure: 'Reconfigure',
};

export function operationTitle({ kind, subject }: Operation, titleOf: (id: string) => string): string {
  return `${OPERATION_WORDS[kind]} ${kind === 'infrastructure' ? subject : titleOf(subject)}`;
}

const STATE_NOTES: Readonly<Record<Operation['state'], string>> = {
  PROCESSING: 'running',
  COMPLETED: '',
  PARTIALLY_COMPLETED: 'partially completed',
  FAILED_TEMP: 'failed',
  FAILED: 'failed',
  ROLLING_BACK: 'rolling back',
  ROLLED_BACK: 'rolled back',
};

/** What to say of an operation in a word or two; nothing of one that is completed. */
export function operationNote(operation: Pick<Operation, 'state'> | null): string {
  return operation ? STATE_NOTES[operation.state] : '';
}

/** Phases of a change, by the steps that carry them out. */
const PHASES: Readonly<Record<PlanStep['kind'], string>> = {
  'prepare-node': 'Prepare',
  'extend-fabric': 'Extend',
  'steer-fabric': 'Steer',
  'switch-node': 'Switch',
  'clean-node': 'Clean',
  'settle-fabric': 'Settle',
};
const hasPhase = (kind: string): kind is PlanStep['kind'] => kind in PHASES;

/** What a step does, after the phase that it belongs to: two phases may each write one rule. */
export function stepText({ kind, summary }: Pick<OperationStep, 'kind' | 'summary'>): string {
  return hasPhase(kind) ? `${PHASES[kind]}: ${summary}` : summary;
}
