import { z } from 'zod';
import { Generation, Id, Origin } from '../common.js';
import { agentEvent, event } from './declare.js';

/** What the server observes about agents. */
export const NODE_EVENTS = {
  'node.connected': event({ title: 'Agent connected', about: 'node', data: z.object({ origin: Origin }) }),
  'node.disconnected': event({
    title: 'Agent disconnected',
    about: 'node',
    severity: 'warning',
    data: z.object({ origin: Origin }),
  }),
  'node.protocol-error': event({
    title: 'Invalid message from an agent',
    about: 'node',
    severity: 'error',
    data: z.object({}),
  }),
  'node.event': event({
    title: 'Event of an unknown type',
    about: 'node',
    severity: 'warning',
    data: z.object({ event: z.string().max(100) }),
  }),
};

const process = { pid: z.int() };

/** What agents report about themselves, the engine and instances. */
export const AGENT_EVENTS = {
  'agent.bad-message': agentEvent({ title: 'Invalid message from the server', about: 'node', severity: 'warning' }),
  'agent.state-not-saved': agentEvent({ title: 'Desired state not saved', about: 'node', severity: 'error' }),

  'agent.events-dropped': agentEvent({
    title: 'Events of an agent lost',
    about: 'node',
    severity: 'warning',
    data: { dropped: z.int() },
  }),

  'node.converged': agentEvent({
    title: 'Node converged',
    about: 'node',
    data: { generation: Generation, instances: z.int() },
  }),
  'node.apply-failed': agentEvent({
    title: 'Desired state not reached',
    about: 'node',
    severity: 'error',
    data: { generation: Generation, instance_id: Id.nullable() },
  }),

  'engine.started': agentEvent({
    title: 'Engine started',
    about: 'node',
    data: { ...process, ms: z.number(), memory: z.string().nullable() },
  }),
  'engine.adopted': agentEvent({ title: 'Running engine adopted', about: 'node', data: process }),
  'engine.unresponsive': agentEvent({
    title: 'Engine not responding',
    about: 'node',
    severity: 'error',
    data: process,
  }),
  'engine.ended': agentEvent({
    title: 'Engine ended',
    about: 'node',
    severity: 'error',
    data: { ...process, how: z.string() },
  }),

  'port.up': agentEvent({ title: 'Port up', about: 'node', data: { port: z.string() } }),
  'port.down': agentEvent({ title: 'Port down', about: 'node', severity: 'warning', data: { port: z.string() } }),

  'instance.ended': agentEvent({
    title: 'Instance ended',
    about: 'instance',
    severity: 'error',
    data: { how: z.string() },
  }),
  'instance.refused': agentEvent({
    title: 'Configuration refused',
    about: 'instance',
    severity: 'error',
    data: { why: z.string() },
  }),
  'instance.holder-ended': agentEvent({
    title: 'Holder of the network namespace ended',
    about: 'instance',
    severity: 'warning',
  }),
  'docker.lost': agentEvent({ title: 'Docker unavailable', about: 'node', severity: 'warning' }),
  'container.left': agentEvent({ title: 'Container not removed', about: 'node', severity: 'warning' }),
};
