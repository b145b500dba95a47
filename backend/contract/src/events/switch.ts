import { z } from 'zod';
import { agentEvent } from './declare.js';

/** What agents report about switches. */
export const SWITCH_AGENT_EVENTS = {
  'switch.restored': agentEvent({
    title: 'Switch restored',
    about: 'switch',
    severity: 'warning',
    data: { drift: z.array(z.string()) },
  }),
  'switch.failed': agentEvent({ title: 'Switch not as desired', about: 'switch', severity: 'error' }),
  'switch.recovered': agentEvent({ title: 'Switch as desired again', about: 'switch' }),
  'switch.flows-not-kept': agentEvent({
    title: 'Flows not kept',
    about: 'switch',
    severity: 'warning',
    data: { packets: z.record(z.string(), z.int().min(1)) },
  }),
  'switch.port-down': agentEvent({
    title: 'Port of a switch down',
    about: 'switch',
    severity: 'warning',
    data: { port: z.string() },
  }),
  'switch.port-up': agentEvent({ title: 'Port of a switch up', about: 'switch', data: { port: z.string() } }),
};
