import { z } from 'zod';
import { event } from './declare.js';

const data = z.object({ version: z.string() });

const learnt = z.object({ driver: z.string(), factor: z.number().describe('measured by declared cycles') });

/** Changes to the legacy NFs that users describe, and to the profiles of all. */
export const NF_DESCRIPTOR_EVENTS = {
  'nf-descriptor.created': event({ title: 'Legacy NF described', about: 'nf-descriptor', data }),
  'nf-descriptor.changed': event({ title: 'Legacy NF changed', about: 'nf-descriptor', data }),
  'nf-descriptor.deleted': event({ title: 'Legacy NF removed', about: 'nf-descriptor', data }),
  'nf-descriptor.learnt': event({ title: 'Profile learnt', about: 'nf-descriptor', data: learnt }),
  'nf-descriptor.forgotten': event({ title: 'Learnt profile dropped', about: 'nf-descriptor', data: z.object({}) }),
};
