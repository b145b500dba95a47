import { z } from 'zod';
import { Id, Name } from '../common.js';
import { event } from './declare.js';

const data = z.object({
  pool: Name,
  count: z.int().min(1).describe('requests'),
  requests: z.array(Id).max(20).describe('the first of them'),
});

/** Each tells all requests of one decision. */
export const SERVICE_REQUEST_EVENTS = {
  'service-request.accepted': event({ title: 'Service request accepted', about: 'chain', data }),
  'service-request.refused': event({ title: 'Service request refused', about: 'chain', severity: 'warning', data }),
  'service-request.active': event({ title: 'Service request active', about: 'chain', data }),
  'service-request.late': event({ title: 'Service request late', about: 'chain', severity: 'warning', data }),
  'service-request.broken': event({ title: 'Service request broken', about: 'chain', severity: 'warning', data }),
  'service-request.released': event({ title: 'Service request released', about: 'chain', data }),
  'service-request.dismissed': event({ title: 'Service request dismissed', about: 'chain', data }),
};
