import { z } from 'zod';
import { event } from './declare.js';

const data = z.object({ title: z.string() });

export const WEBHOOK_EVENTS = {
  'webhook.added': event({ title: 'Webhook added', about: 'webhook', data }),
  'webhook.changed': event({ title: 'Webhook changed', about: 'webhook', data }),
  'webhook.removed': event({ title: 'Webhook removed', about: 'webhook', data }),
  'webhook.failing': event({
    title: 'Webhook does not get through',
    about: 'webhook',
    severity: 'warning',
    data: z.object({ title: z.string(), error: z.string() }),
  }),
  'webhook.recovered': event({ title: 'Webhook gets through again', about: 'webhook', data }),
  'webhook.refused': event({
    title: 'Receiver of a webhook refused an event',
    about: 'webhook',
    severity: 'warning',
    data: z.object({ title: z.string(), status: z.int(), event_id: z.string() }),
  }),
};
