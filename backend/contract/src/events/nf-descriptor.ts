import { z } from 'zod';
import { event } from './declare.js';

const data = z.object({ version: z.string() });

/** Changes to the legacy NFs that users describe. */
export const NF_DESCRIPTOR_EVENTS = {
  'nf-descriptor.created': event({ title: 'Legacy NF described', about: 'nf-descriptor', data }),
  'nf-descriptor.changed': event({ title: 'Legacy NF changed', about: 'nf-descriptor', data }),
  'nf-descriptor.deleted': event({ title: 'Legacy NF removed', about: 'nf-descriptor', data }),
};
