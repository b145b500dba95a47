import { z } from 'zod';
import { Name } from '../common.js';
import { event } from './declare.js';

/** Shells in containers. The subject is the instance, the actor who opened it. */
export const SHELL_EVENTS = {
  'shell.opened': event({
    title: 'Shell opened',
    about: 'instance',
    severity: 'warning',
    data: z.object({ node: Name, address: z.string().describe('of the client') }),
  }),
  'shell.refused': event({
    title: 'Shell refused',
    about: 'instance',
    severity: 'warning',
    data: z.object({
      address: z.string().describe('of the client'),
      why: z.string(),
      unrecorded: z.int().describe('further refusals since the last such event'),
    }),
  }),
  'shell.closed': event({
    title: 'Shell closed',
    about: 'instance',
    data: z.object({ node: Name, why: z.string(), open_ms: z.number() }),
  }),
};
