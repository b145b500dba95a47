import { type Operation, type OperationStep, type PlanStep, SWITCH_DRIVER_TITLES } from '@orrery/contract';

export const OPERATION_WORDS: Readonly<Record<Operation['kind'], string>> = {
  deploy: 'Deploy',
  undeploy: 'Take down',
  infrastructure: 'Change the driver of',
  reconfigure: 'Reconfigure',
  migrate: 'Move flows of',
};

export function operationTitle(
  { kind, subject, drivers }: Pick<Operation, 'kind' | 'subject' | 'drivers'>,
  titleOf: (id: string) => string,
): string {
  if (kind !== 'infrastructure') return `${OPERATION_WORDS[kind]} ${titleOf(subject)}`;
  const changes = drivers.map(({ switch: id, to }) => `${id} to ${SWITCH_DRIVER_TITLES[to]}`);
  return `${OPERATION_WORDS[kind]} ${changes.length > 0 ? changes.join('; ') : subject}`;
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

/** Before what a step has done, as its summary has it, while it has not. */
const NOT_DONE: Partial<Readonly<Record<OperationStep['state'], string>>> = {
  pending: 'to be',
  running: 'being',
  failed: 'not',
  skipped: 'not',
};
const DONE = /\b(started|stopped|reconfigured|rewired|written|removed)\b/g;

/**
 * What a step does, after the phase that it belongs to: two phases may each write one rule. `state`: of a step that is carried
 * out; `Extend: 1 rule to be written`.
 */
export function stepText({
  kind,
  summary,
  state,
}: Pick<OperationStep, 'kind' | 'summary'> & Partial<Pick<OperationStep, 'state'>>): string {
  if (!hasPhase(kind)) return summary;
  const before = state && NOT_DONE[state];
  const text = before && kind !== 'change-driver' ? summary.replace(DONE, `${before} $1`) : summary;
  return `${PHASES[kind]}: ${text}`;
}
