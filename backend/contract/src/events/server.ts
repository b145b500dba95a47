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
};
