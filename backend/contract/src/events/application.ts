import { z } from 'zod';
import { Name } from '../common.js';
import { event, type Severity } from './declare.js';

const data = z.object({ kind: z.string(), node: Name });

/** Changes to applications through the API. */
export const APPLICATION_EVENTS = {
  'application.declared': event({ title: 'Application declared', about: 'application', data }),
  'application.changed': event({ title: 'Application changed', about: 'application', data }),
  'application.started': event({ title: 'Application started', about: 'application', data }),
  'application.stopped': event({ title: 'Application stopped', about: 'application', data }),
  'application.restarted': event({ title: 'Application restarted', about: 'application', data }),
  'application.deleted': event({ title: 'Application deleted', about: 'application', data }),
};

const observed = z.object({ node: Name.optional().describe('absent: an emulated host') });

const supervisionEvent = (title: string, severity: Severity = 'info') =>
  ({ title, about: 'application', severity, data: observed }) as const;

/** What twind and agents report about the programs that they supervise. */
export const SUPERVISION_EVENTS = {
  'application.running': supervisionEvent('Application running'),
  'application.completed': supervisionEvent('Application completed'),
  'application.unresponsive': supervisionEvent('Application not responding', 'warning'),
  'application.failed': supervisionEvent('Application failed', 'warning'),
};
