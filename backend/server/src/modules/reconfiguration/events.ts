import type { Reconfiguration } from '@orrery/contract';
import type { EventDraft } from '../../ports/event-log.js';

export function started(run: Reconfiguration, by: string): EventDraft {
  const what = run.moves.map(({ nf, from, to }) => `${nf} from ${from} to ${to}`).join(', ');
  return {
    type: 'reconfiguration.started',
    subject: run.id,
    message: `Reconfiguration (${run.trigger}): ${what}`,
    actor: by,
    data: { id: run.id, cause: run.cause, policy_id: run.policy_id, moves: run.moves },
  };
}

/** After a restart of the server. */
export function resumed(run: Reconfiguration): EventDraft {
  const stage = run.stages.findLast(({ state }) => state === 'running')?.stage ?? null;
  return {
    type: 'reconfiguration.resumed',
    severity: 'warning',
    subject: run.id,
    message: `Reconfiguration taken up again after a restart of the server${stage ? ` in its stage ${stage}` : ''}`,
    data: { id: run.id, stage },
  };
}

/** One event for every stage that is not as it was. */
export function stageEvents(before: Reconfiguration | null, run: Reconfiguration): EventDraft[] {
  return run.stages.flatMap((record, i): EventDraft[] => {
    if (record.state === 'pending' || before?.stages[i]?.state === record.state) return [];
    const ms = record.started_ms !== null && record.ended_ms !== null ? record.ended_ms - record.started_ms : null;
    const took = ms === null ? '' : ` after ${ms} ms`;
    return [
      {
        type: 'reconfiguration.stage',
        severity: record.state === 'failed' ? 'error' : 'info',
        subject: run.id,
        message: `${record.stage} ${record.state}${took}${record.detail ? `: ${record.detail}` : ''}`,
        data: { id: run.id, stage: record.stage, state: record.state, duration_ms: ms },
      },
    ];
  });
}

export function over(run: Reconfiguration): EventDraft {
  const took = (run.ended_ms ?? run.started_ms) - run.started_ms;
  const severity = { completed: 'info', refused: 'warning', 'rolled-back': 'warning', failed: 'error' } as const;
  return {
    type: `reconfiguration.${run.state}`,
    severity: run.state === 'running' ? 'info' : severity[run.state],
    subject: run.id,
    message: `Reconfiguration ${run.state.replace('-', ' ')} after ${took} ms${run.detail ? `: ${run.detail}` : ''}`,
    data: { id: run.id, moves: run.moves, packets_lost: run.packets_lost, duration_ms: took },
  };
}
