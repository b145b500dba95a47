import { z } from 'zod';
import { Id, Name } from '../common.js';
import { event } from './declare.js';

const ofNf = z.object({ chain_id: Id, node_id: Name });

/** Of splits of first NFs in steps (E2 3.4.4). */
export const SPLIT_EVENTS = {
  'split.staged': event({
    title: 'Split at the old server',
    about: 'chain',
    marks: true,
    data: z.object({ ...ofNf.shape, instances: z.int() }),
  }),
  'split.handed-over': event({
    title: 'Split handed over to the switch',
    about: 'chain',
    marks: true,
    data: z.object({ ...ofNf.shape, exceptions: z.int(), operation_id: Id }),
  }),
  'split.handover-waits': event({
    title: 'Hand-over of a split waits',
    about: 'chain',
    severity: ({ given_up }) => (given_up ? 'warning' : 'info'),
    data: z.object({ ...ofNf.shape, exceptions: z.int().nullable(), given_up: z.boolean() }),
  }),
};
