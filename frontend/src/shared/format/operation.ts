import type { Operation, OperationStep, PlanStep } from '@orrery/contract';

export const OPERATION_WORDS: Readonly<Record<Operation['kind'], string>> = {
  deploy: 'Deploy',
  undeploy: 'Take down',
  infrastructure: 'Change infrastructure',
  reconfigure: 'Reconfigure',
  migrate: 'Move flows of',
};

export function operationTitle({ kind, subject }: Operation, titleOf: (id: string) => string): string {
  return `${OPERATION_WORDS[kind]} ${kind === 'infrastructure' ? subject : titleOf(subject)}`;
}

/** Ids of the chains that operations are about. */
export function chainsOf(operations: readonly Operation[]): string[] {
  return operations.flatMap(({ kind, subject }) => (kind === 'infrastructure' ? [] : [subject]));
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

type Cancellable = Pick<Operation, 'state' | 'cancelled_by'>;

const CANCELLED: Partial<Readonly<Record<Operation['state'], string>>> = {
  ROLLING_BACK: 'being cancelled',
  ROLLED_BACK: 'cancelled',
};

/** That somebody cancelled the operation, in a word or two; undefined: nobody did. */
export function cancelledText({ state, cancelled_by }: Cancellable): string | undefined {
  return cancelled_by ? CANCELLED[state] : undefined;
}

/** What to say of an operation in a word or two; nothing of one that is completed. */
export function operationNote(operation: Cancellable | null): string {
  return operation ? (cancelledText(operation) ?? STATE_NOTES[operation.state]) : '';
}

/** What went wrong; null also for an operation that somebody cancelled, whose state says so. */
export function operationTrouble(operation: Cancellable & Pick<Operation, 'error'>): Operation['error'] {
  return cancelledText(operation) ? null : operation.error;
}

/** Phases of a change, by the steps that carry them out. */
const PHASES: Readonly<Record<PlanStep['kind'], string>> = {
  'prepare-node': 'Prepare',
  'extend-fabric': 'Extend',
  'change-driver': 'Change driver',
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
