import type { Operation, OperationStep, Plan } from '@orrery/contract';

export const OPERATION_NOUN: Readonly<Record<Operation['kind'], string>> = {
  deploy: 'Deployment',
  undeploy: 'Removal',
  infrastructure: 'Change of the infrastructure',
  reconfigure: 'Reconfiguration',
};

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

/** The operation with the steps of a kind started or done. */
export function withSteps(operation: Operation, kind: StepKind, state: 'running' | 'done', nowMs: number): Operation {
  const steps = operation.steps.map((step) => {
    if (step.kind !== kind || step.state === 'done') return step;
    if (state === 'running') return step.state === 'running' ? step : { ...step, state, started_ms: nowMs };
    return { ...step, state, started_ms: step.started_ms ?? nowMs, ended_ms: nowMs, detail: null };
  });
  return { ...operation, steps, updated_ms: nowMs };
}

/** The operation in FAILED_TEMP, waiting for what `detail` names. */
export function stuck(operation: Operation, detail: string, nowMs: number): Operation {
  const steps = operation.steps.map((step) => (step.state === 'running' ? { ...step, detail } : step));
  return { ...operation, steps, state: 'FAILED_TEMP', error: { detail, errors: [] }, updated_ms: nowMs };
}

export function resumed(operation: Operation, nowMs: number): Operation {
  return { ...operation, state: 'PROCESSING', error: null, updated_ms: nowMs };
}

export function ended(
  operation: Operation,
  state: 'COMPLETED' | 'FAILED',
  detail: string | null,
  nowMs: number,
): Operation {
  const steps = operation.steps.map((step): OperationStep => {
    if (step.state === 'done') return step;
    if (state === 'COMPLETED') return { ...step, state: 'skipped', ended_ms: nowMs };
    return { ...step, state: step.state === 'running' ? 'failed' : 'skipped', ended_ms: nowMs };
  });
  return {
    ...operation,
    steps,
    state,
    error: detail === null ? null : { detail, errors: [] },
    updated_ms: nowMs,
  };
}
