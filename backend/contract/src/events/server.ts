import { z } from 'zod';
import { TimestampMs } from '../common.js';
import { event } from './declare.js';

export const SERVER_EVENTS = {
  'server.returned': event({
    title: 'Server restarted',
    about: 'server',
    severity: 'warning',
    data: z.object({ away_since_ms: TimestampMs.describe('nothing was recorded from this time until the restart') }),
  }),
  'server.store-low': event({
    title: 'Store almost full',
    about: 'server',
    severity: 'error',
    data: z.object({ what: z.enum(['disk', 'memory']) }),
  }),
  'server.store-relieved': event({
    title: 'Store has room again',
    about: 'server',
    data: z.object({ what: z.enum(['disk', 'memory']) }),
  }),
};
