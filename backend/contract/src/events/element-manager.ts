import { z } from 'zod';
import { Id, Name } from '../common.js';
import { event } from './declare.js';

const data = z.object({ chain_id: Id, node_id: Name, nf: Name, server: Name });

/** What instances were seen to do, whoever switched them. */
export const ELEMENT_MANAGER_EVENTS = {
  'nf.accelerated': event({ title: 'NF accelerated', about: 'instance', marks: true, data }),
  'nf.released': event({ title: 'NF released its accelerator', about: 'instance', marks: true, data }),
};
