import { z } from 'zod';
import { event } from './declare.js';

const program = z.object({ hash: z.string() });

/** Changes to P4 programs of users, and to what their tables hold. */
export const P4_PROGRAM_EVENTS = {
  'p4-program.created': event({ title: 'P4 program uploaded', about: 'p4-program', data: program }),
  'p4-program.deleted': event({ title: 'P4 program removed', about: 'p4-program', data: program }),
  'switch.entries-changed': event({
    title: 'Entries of a P4 program changed',
    about: 'switch',
    data: z.object({
      program: z.string(),
      added: z.array(z.string()).describe('entries, default actions and groups; at most twenty'),
      removed: z.array(z.string()).describe('at most twenty'),
      entries: z.int().min(0),
    }),
  }),
};
