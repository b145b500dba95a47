import { z } from 'zod';
import { Id, Name } from '../common.js';
import { event } from './declare.js';

const data = z.object({
  pool: Name,
  count: z.int().min(1).describe('requests'),
  requests: z.array(Id).max(20).describe('the first of them'),
});

const pool = z.object({ pool: Name, chain_id: Id });

/** Those of requests tell all of one decision each. */
export const SERVICE_REQUEST_EVENTS = {
  'service-request.accepted': event({ title: 'Service request accepted', about: 'chain', data }),
  'service-request.refused': event({ title: 'Service request refused', about: 'chain', severity: 'warning', data }),
  'service-request.active': event({ title: 'Service request active', about: 'chain', data }),
  'service-request.late': event({ title: 'Service request late', about: 'chain', severity: 'warning', data }),
  'service-request.broken': event({ title: 'Service request broken', about: 'chain', severity: 'warning', data }),
  'service-request.released': event({ title: 'Service request released', about: 'chain', data }),
  'service-request.dismissed': event({ title: 'Service request dismissed', about: 'chain', data }),
  'service-pool.created': event({ title: 'Service pool created', about: 'chain', data: pool }),
  'service-pool.removing': event({ title: 'Service pool is to go', about: 'chain', data: pool }),
  'service-pool.removed': event({ title: 'Service pool removed', about: 'chain', data: pool }),
};
