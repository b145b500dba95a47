import { z } from 'zod';
import { Id } from '../common.js';
import { HealingPolicyRequest } from '../healing.js';
import { NotKept } from '../plan.js';
import { CHAINS_THERE, event } from './declare.js';

const kind = z.enum(['server', 'board']);
const chains = CHAINS_THERE;
const { slo_id, priority, constraint } = NotKept.shape;

export const HEALING_EVENTS = {
  'maintenance.began': event({
    title: 'Maintenance began',
    about: 'node',
    marks: true,
    data: z.object({ kind, operation_id: Id.nullable(), chains }),
  }),
  'maintenance.ended': event({
    title: 'Back in service',
    about: 'node',
    marks: true,
    data: z.object({ kind, operation_id: Id.nullable(), chains }),
  }),
  'healing.lost': event({
    title: 'Server lost',
    about: 'node',
    severity: 'error',
    data: z.object({ instances: z.array(Id).describe('that ran there, with their flow state'), chains }),
  }),
  'healing.moved': event({
    title: 'What was lost runs elsewhere',
    about: 'node',
    marks: true,
    data: z.object({ operation_id: Id, chains }),
  }),
  'healing.refused': event({
    title: 'Not possible without it',
    about: 'node',
    severity: 'error',
    data: z.object({ chains }),
  }),
  'healing.not-kept': event({
    title: 'Not kept',
    about: 'chain',
    severity: 'error',
    data: z.object({ slo_id, priority, constraint, plan_id: Id }),
  }),
  'healing.kept-again': event({
    title: 'Deployed again',
    about: 'chain',
    marks: true,
    data: z.object({ plan_id: Id }),
  }),
  'healing.given-up': event({ title: 'Given up', about: 'chain', marks: true, data: z.object({}) }),
  'healing.back': event({
    title: 'Lost server back',
    about: 'node',
    data: z.object({ returns: z.enum(['never', 'ask', 'auto']) }),
  }),
  'healing.returned': event({
    title: 'Returned to the server',
    about: 'node',
    marks: true,
    data: z.object({ operation_id: Id, chains }),
  }),
  'healing.policy': event({
    title: 'Healing policy changed',
    about: 'loop',
    data: z.object(HealingPolicyRequest.shape),
  }),
};
