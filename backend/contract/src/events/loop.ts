import { z } from 'zod';
import { Name } from '../common.js';
import { LoopDecision } from '../loops.js';
import { event } from './declare.js';

const { subject, what, why, inputs } = LoopDecision.shape;

export const LOOP_EVENTS = {
  'loop.decided': event({
    title: 'Control loop decided',
    about: 'loop',
    data: z.object({
      loop: Name,
      about: subject,
      what,
      why,
      inputs,
      suppressed: z.int().min(0).describe('earlier decisions omitted by the rate limit'),
    }),
  }),
  'loop.paused': event({
    title: 'Control loop paused',
    about: 'loop',
    severity: 'warning',
    data: z.object({ loop: Name }),
  }),
  'loop.resumed': event({ title: 'Control loop resumed', about: 'loop', data: z.object({ loop: Name }) }),
};
