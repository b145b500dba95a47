import { type Operation, type Reconfiguration, ReconfigurationStage, type StageRecord } from '@orrery/contract';

export const STAGES = ReconfigurationStage.options;

export function noStages(): StageRecord[] {
  return STAGES.map((stage) => ({
    stage,
    state: 'pending',
    started_ms: null,
    ended_ms: null,
    detail: '',
    operation_id: null,
  }));
}

type Change = Partial<Pick<StageRecord, 'detail' | 'operation_id'>>;

/** Begins the stage; every earlier stage that has not ended becomes done or, if it never began, skipped. */
export function begun(
  run: Reconfiguration,
  stage: ReconfigurationStage,
  nowMs: number,
  more: Change = {},
): Reconfiguration {
  const index = STAGES.indexOf(stage);
  return {
    ...run,
    stages: run.stages.map((record, i) => {
      if (i < index) return closed(record, nowMs);
      if (i > index) return record;
      return { ...record, ...more, state: 'running', started_ms: record.started_ms ?? nowMs };
    }),
  };
}

function closed(record: StageRecord, nowMs: number): StageRecord {
  if (record.state === 'pending') return { ...record, state: 'skipped' };
  return record.state === 'running' ? { ...record, state: 'done', ended_ms: nowMs } : record;
}

/** Ends the run: the running stage becomes done, or failed if the run did not complete. */
export function finished(
  run: Reconfiguration,
  state: Exclude<Reconfiguration['state'], 'running'>,
  detail: string | null,
  nowMs: number,
): Reconfiguration {
  return {
    ...run,
    state,
    detail,
    ended_ms: nowMs,
    stages: run.stages.map((record) => {
      if (record.state === 'pending') return { ...record, state: 'skipped' };
      if (record.state !== 'running') return record;
      return { ...record, state: state === 'completed' ? 'done' : 'failed', ended_ms: nowMs };
    }),
  };
}

/** When traffic began to be steered to the new instances, by the fabric or within a server; null: still being prepared. */
export function steeringSince({ steps }: Operation): number | null {
  const leading = steps.filter(
    ({ kind, state }) =>
      (kind === 'steer-fabric' || kind === 'switch-node') && (state === 'running' || state === 'done'),
  );
  const since = leading.flatMap(({ started_ms }) => started_ms ?? []);
  return since.length > 0 ? Math.min(...since) : null;
}
