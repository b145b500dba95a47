import { z } from 'zod';
import { Role } from '../lifecycle.js';
import { event } from './declare.js';

const from = { address: z.string().describe('of the client') };

/** Who signed in, and who failed to. The subject is the name of the session or, if there is none, the address. */
export const SESSION_EVENTS = {
  'session.opened': event({ title: 'Signed in', about: 'session', data: z.object({ ...from, role: Role }) }),
  'session.closed': event({ title: 'Signed out', about: 'session', data: z.object({ role: Role }) }),
  'session.refused': event({
    title: 'Wrong secret',
    about: 'session',
    severity: 'warning',
    data: z.object({ ...from, unrecorded: z.int().describe('further wrong secrets since the last such event') }),
  }),
};
