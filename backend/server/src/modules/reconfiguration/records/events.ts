import type { EventDraft, Reconfiguration } from '@orrery/contract';
import { placeText } from '../places.js';

export function started(run: Reconfiguration, by: string): EventDraft {
  const what = run.moves.map(({ nf, from, to }) => `${nf} from ${placeText(from)} to ${placeText(to)}`).join(', ');
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
    subject: run.id,
    message: `Reconfiguration resumed after a restart of the server${stage ? `, in stage ${stage}` : ''}`,
    data: { id: run.id, stage },
  };
}

/** One event for every stage that has changed. */
export function stageEvents(before: Reconfiguration | null, run: Reconfiguration): EventDraft[] {
  return run.stages.flatMap((record, i): EventDraft[] => {
    if (record.state === 'pending' || before?.stages[i]?.state === record.state) return [];
    const ms = record.started_ms !== null && record.ended_ms !== null ? record.ended_ms - record.started_ms : null;
    const took = ms === null ? '' : ` after ${ms} ms`;
    return [
      {
        type: 'reconfiguration.stage',
        subject: run.id,
        message: `${record.stage} ${record.state}${took}${record.detail ? `: ${record.detail}` : ''}`,
        data: { id: run.id, stage: record.stage, state: record.state, duration_ms: ms },
      },
    ];
  });
}

export function over(run: Reconfiguration, state: Exclude<Reconfiguration['state'], 'running'>): EventDraft {
  const took = (run.ended_ms ?? run.started_ms) - run.started_ms;
  return {
    type: `reconfiguration.${state}`,
    subject: run.id,
    message: `Reconfiguration ${state.replace('-', ' ')} after ${took} ms${run.detail ? `: ${run.detail}` : ''}`,
    data: { id: run.id, moves: run.moves, packets_lost: run.packets_lost, duration_ms: took },
  };
}
