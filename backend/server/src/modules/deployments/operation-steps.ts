import type { Operation, OperationStep, Plan } from '@orrery/contract';

export const OPERATION_NOUN: Readonly<Record<Operation['kind'], string>> = {
  deploy: 'Deployment',
  undeploy: 'Removal',
  infrastructure: 'Change of the driver',
  reconfigure: 'Reconfiguration',
  migrate: 'Move of flows',
};

/** The subject of steps that concern every switch. */
const FABRIC = 'fabric';

type StepKind = Plan['steps'][number]['kind'];

export function stepsOf(plan: Plan): OperationStep[] {
  return plan.steps.map(({ ordinal, kind, subject, summary }) => ({
    ordinal,
    kind,
    subject,
    summary,
    state: 'pending',
    started_ms: null,
    ended_ms: null,
    detail: null,
  }));
}

/** The operation with the steps of some kinds started or done. */
export function withSteps(
  operation: Operation,
  kinds: readonly StepKind[],
  state: 'running' | 'done',
  nowMs: number,
): Operation {
  const steps = operation.steps.map((step) => {
    if (!isOf(step, kinds) || step.state === 'done' || step.state === 'skipped') return step;
    if (state === 'running') return step.state === 'running' ? step : { ...step, state, started_ms: nowMs };
    return { ...step, state, started_ms: step.started_ms ?? nowMs, ended_ms: nowMs, detail: null };
  });
  return { ...operation, steps, updated_ms: nowMs };
}

/** The operation whose running steps name the agents that they wait for; null: they do so already. */
export function awaiting(operation: Operation, away: readonly string[], nowMs: number): Operation | null {
  return explained(operation, nowMs, ({ subject }) =>
    agentsAwaited(subject === FABRIC ? away : away.filter((node) => node === subject)),
  );
}

/** The operation whose running steps say what each switch lacks that they wait for; null: they do so already. */
export function lagging(operation: Operation, lags: ReadonlyMap<string, string>, nowMs: number): Operation | null {
  return explained(
    operation,
    nowMs,
    ({ subject }) => (subject === FABRIC ? [...lags.values()].join('; ') : lags.get(subject)) || null,
  );
}

/** Null: the running steps have these details already. */
function explained(
  operation: Operation,
  nowMs: number,
  detailOf: (step: OperationStep) => string | null,
): Operation | null {
  let isChanged = false;
  const steps = operation.steps.map((step) => {
    if (step.state !== 'running') return step;
    const detail = detailOf(step);
    isChanged ||= detail !== step.detail;
    return { ...step, detail };
  });
  return isChanged ? { ...operation, steps, updated_ms: nowMs } : null;
}

function isOf({ kind }: OperationStep, kinds: readonly StepKind[]): boolean {
  return kinds.some((one) => one === kind);
}

function agentsAwaited(nodes: readonly string[]): string | null {
  if (nodes.length === 0) return null;
  return `waiting for the agent${nodes.length > 1 ? 's' : ''} of ${nodes.join(', ')} (not connected)`;
}

/** The operation in FAILED_TEMP, waiting for what `detail` names. */
export function stuck(operation: Operation, detail: string, nowMs: number): Operation {
  const steps = operation.steps.map((step) => (step.state === 'running' ? { ...step, detail } : step));
  return { ...operation, steps, state: 'FAILED_TEMP', error: { detail, errors: [] }, updated_ms: nowMs };
}

/** The operation as it goes on or is queued again; one that was set aside no longer is. */
export function resumed(operation: Operation, nowMs: number): Operation {
  return { ...operation, state: 'PROCESSING', error: null, set_aside: null, updated_ms: nowMs };
}

/** The operation without its unfinished steps of some kinds, which take effect later, for the reason. */
export function withoutSteps(
  operation: Operation,
  kinds: readonly StepKind[],
  detail: string,
  nowMs: number,
): Operation {
  const steps = operation.steps.map((step): OperationStep => {
    const isLeft = isOf(step, kinds) && step.state !== 'done';
    return isLeft ? { ...step, state: 'skipped', ended_ms: nowMs, detail } : step;
  });
  return { ...operation, steps, updated_ms: nowMs };
}

/** COMPLETED, or PARTIALLY_COMPLETED if steps were left out. */
export function completed(operation: Operation, nowMs: number): Operation {
  const left = operation.steps.flatMap(({ state, detail }) => (state === 'skipped' && detail ? [detail] : []));
  const steps = operation.steps.map((step): OperationStep => {
    if (step.state === 'done' || step.state === 'skipped') return step;
    return { ...step, state: 'skipped', ended_ms: nowMs, detail: null };
  });
  const error = left.length > 0 ? { detail: [...new Set(left)].join('; '), errors: [] } : null;
  return {
    ...operation,
    steps,
    state: error ? 'PARTIALLY_COMPLETED' : 'COMPLETED',
    error,
    updated_ms: nowMs,
  };
}

/** The operation from when its change is being taken back. Its steps wait for nothing any more, and say only why it is. */
export function rollingBack(operation: Operation, detail: string, nowMs: number): Operation {
  const steps = operation.steps.map((step): OperationStep => {
    if (step.state === 'done' || step.state === 'failed') return step;
    const isCause = step.detail !== null && detail.includes(step.detail);
    return {
      ...step,
      state: step.state === 'running' ? 'failed' : 'skipped',
      ended_ms: nowMs,
      detail: isCause ? step.detail : null,
    };
  });
  return { ...operation, steps, state: 'ROLLING_BACK', error: { detail, errors: [] }, updated_ms: nowMs };
}

/** The operation without any effect: steps that were done are undone. */
export function withoutEffect(
  operation: Operation,
  state: 'ROLLED_BACK' | 'FAILED',
  detail: string,
  nowMs: number,
): Operation {
  const { steps } = rollingBack(operation, detail, nowMs);
  return {
    ...operation,
    steps: steps.map((step) => (step.state === 'done' ? { ...step, state: 'undone' } : step)),
    state,
    set_aside: null,
    error: { detail, errors: [] },
    updated_ms: nowMs,
  };
}

/** The operation, to be begun again once the nodes are back. */
export function setAside(
  operation: Operation,
  detail: string,
  waiting_for: readonly string[],
  nowMs: number,
): Operation {
  return {
    ...withoutEffect(operation, 'FAILED', detail, nowMs),
    state: 'FAILED_TEMP',
    set_aside: { waiting_for: [...waiting_for], since_ms: nowMs },
  };
}
