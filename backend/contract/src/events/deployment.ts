import { z } from 'zod';
import { Id, Name } from '../common.js';
import { FlowSelector } from '../flow-selector.js';
import { event } from './declare.js';

const ofOperation = z.object({ chain_id: Id.describe('subject of the operation') });
const planned = z.object({ ...ofOperation.shape, plan_id: Id.nullable() });

const copied = {
  from: Id,
  to: Id,
  when: z.enum(['before', 'after', 'asked']).describe('relative to steering traffic to the new instance; or by itself'),
};
const trouble = z.object({ trouble: z.array(z.string()) });

export const DEPLOYMENT_EVENTS = {
  'operation.started': event({
    title: 'Operation started',
    about: 'operation',
    marks: true,
    data: z.object({ ...planned.shape, chains: z.array(Id) }),
  }),
  'operation.step': event({
    title: 'Operation step',
    about: 'operation',
    data: z.object({
      ...ofOperation.shape,
      phase: z.enum(['prepare', 'extend', 'steer', 'switch', 'clean', 'settle', 'settled']),
    }),
  }),
  'operation.waiting': event({
    title: 'Operation waiting',
    about: 'operation',
    severity: 'warning',
    data: ofOperation,
  }),
  'operation.completed': event({ title: 'Operation completed', about: 'operation', marks: true, data: planned }),
  'operation.failed': event({ title: 'Operation failed', about: 'operation', severity: 'error', data: ofOperation }),
  'operation.replanned': event({ title: 'Operation planned again', about: 'operation', data: planned }),
  'operation.set-aside': event({
    title: 'Operation set aside',
    about: 'operation',
    severity: 'warning',
    data: z.object({ ...ofOperation.shape, waiting_for: z.array(Name) }),
  }),
  'operation.retried': event({ title: 'Operation tried again', about: 'operation', data: ofOperation }),
  'operation.rolling-back': event({
    title: 'Operation is taken back',
    about: 'operation',
    severity: 'warning',
    data: ofOperation,
  }),
  'operation.rolled-back': event({
    title: 'Operation taken back',
    about: 'operation',
    severity: 'warning',
    data: ofOperation,
  }),
  'operation.partially-completed': event({
    title: 'Operation partially completed',
    about: 'operation',
    severity: 'warning',
    data: planned,
  }),
  'operation.first-packet': event({
    title: 'First packet',
    about: 'operation',
    data: z.object({ ...ofOperation.shape, after_ms: z.number() }),
  }),

  'deployment.running': event({
    title: 'Chain running',
    about: 'chain',
    marks: true,
    data: z.object({ version: z.int(), plan_id: Id }),
  }),
  'deployment.removed': event({
    title: 'Chain taken down',
    about: 'chain',
    marks: true,
    data: z.object({ plan_id: Id }),
  }),
  'deployment.degraded': event({ title: 'Chain degraded', about: 'chain', severity: 'error', data: trouble }),
  'deployment.interrupted': event({ title: 'Chain interrupted by a planned change', about: 'chain', data: trouble }),
  'deployment.reason-changed': event({
    title: 'Chain degraded for another reason',
    about: 'chain',
    severity: 'warning',
    data: trouble,
  }),
  'deployment.recovered': event({ title: 'Chain recovered', about: 'chain', marks: true, data: trouble }),

  'instance.migrated': event({
    title: 'Flow state moved',
    about: 'instance',
    marks: true,
    data: z.object({
      ...copied,
      entries: z.int(),
      ms: z.number(),
      entries_per_s: z.number(),
      flows: FlowSelector.optional().describe('which; absent: all'),
      bytes: z.int().optional().describe('of flow state sent'),
      steered: z.int().optional().describe('flows that the split sends there since'),
      released: z.int().optional().describe('flows removed where they came from'),
    }),
  }),
  'instance.migration-failed': event({
    title: 'Flow state not moved',
    about: 'instance',
    severity: 'warning',
    data: z.object(copied),
  }),
};
