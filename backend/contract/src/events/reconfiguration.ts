import { z } from 'zod';
import { Id } from '../common.js';
import { NfMove, NfRef, Reconfiguration, ReconfigurationStage, StageRecord } from '../reconfiguration.js';
import { event } from './declare.js';

const ended = z.object({
  id: Id,
  moves: z.array(NfMove),
  packets_lost: z.int().nullable(),
  duration_ms: z.number(),
});
const ofPolicy = z.object({ policy_id: Id, ...NfRef.shape });

export const RECONFIGURATION_EVENTS = {
  'reconfiguration.started': event({
    title: 'Reconfiguration started',
    about: 'reconfiguration',
    marks: true,
    data: z.object({
      id: Id,
      cause: Reconfiguration.shape.cause,
      policy_id: Id.nullable(),
      moves: z.array(NfMove),
    }),
  }),
  'reconfiguration.resumed': event({
    title: 'Reconfiguration resumed',
    about: 'reconfiguration',
    severity: 'warning',
    data: z.object({ id: Id, stage: ReconfigurationStage.nullable() }),
  }),
  'reconfiguration.stage': event({
    title: 'Reconfiguration stage',
    about: 'reconfiguration',
    severity: ({ state }) => (state === 'failed' ? 'error' : 'info'),
    data: z.object({
      id: Id,
      stage: ReconfigurationStage,
      state: StageRecord.shape.state,
      duration_ms: z.number().nullable(),
    }),
  }),
  'reconfiguration.completed': event({
    title: 'Reconfiguration completed',
    about: 'reconfiguration',
    marks: true,
    data: ended,
  }),
  'reconfiguration.refused': event({
    title: 'Reconfiguration refused',
    about: 'reconfiguration',
    severity: 'warning',
    data: ended,
  }),
  'reconfiguration.rolled-back': event({
    title: 'Reconfiguration rolled back',
    about: 'reconfiguration',
    severity: 'warning',
    data: ended,
  }),
  'reconfiguration.failed': event({
    title: 'Reconfiguration failed',
    about: 'reconfiguration',
    severity: 'error',
    data: ended,
  }),

  'policy.added': event({ title: 'Reconfiguration policy added', about: 'policy', data: ofPolicy }),
  'policy.changed': event({ title: 'Reconfiguration policy changed', about: 'policy', data: ofPolicy }),
  'policy.removed': event({ title: 'Reconfiguration policy removed', about: 'policy', data: ofPolicy }),
};
