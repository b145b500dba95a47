import { z } from 'zod';
import { Id } from '../common.js';
import { NfRef } from '../reconfiguration.js';
import { Scaling } from '../scaling.js';
import { event } from './declare.js';

const { from, to, policy_id, left_flows, state } = Scaling.shape;
const begun = z.object({ id: Id, ...NfRef.shape, from, to, policy_id });

export const SCALING_EVENTS = {
  'scaling.out': event({ title: 'NF scales out', about: 'scaling', marks: true, data: begun }),
  'scaling.in': event({ title: 'NF scales in', about: 'scaling', marks: true, data: begun }),
  'scaling.ended': event({
    title: 'Scaling ended',
    about: 'scaling',
    severity: ({ state, left_flows }) => (state === 'failed' || (left_flows ?? 0) > 0 ? 'warning' : 'info'),
    marks: true,
    data: begun.extend({ state, left_flows }),
  }),
  'scaling.refused': event({
    title: 'Scaling refused',
    about: 'scaling-policy',
    severity: 'warning',
    data: z.object({ policy_id: Id, ...NfRef.shape }),
  }),
  'scaling.policy': event({
    title: 'Scaling policy changed',
    about: 'scaling-policy',
    data: z.object({ policy_id: Id, ...NfRef.shape, what: z.enum(['added', 'changed', 'removed']) }),
  }),
};
