import { z } from 'zod';
import { Generation, Id, Origin, TimestampMs } from '../common.js';
import { agentEvent, CHAINS_THERE, event } from './declare.js';

/** What the server observes about agents. */
export const NODE_EVENTS = {
  'node.connected': event({ title: 'Agent connected', about: 'node', data: z.object({ origin: Origin }) }),
  'node.disconnected': event({
    title: 'Agent disconnected',
    about: 'node',
    severity: 'warning',
    data: z.object({ origin: Origin, chains: CHAINS_THERE }),
  }),
  'node.protocol-error': event({
    title: 'Invalid message from an agent',
    about: 'node',
    severity: 'error',
    data: z.object({}),
  }),
  'node.join-token-created': event({
    title: 'Join token created',
    about: 'node',
    data: z.object({ expires_ms: TimestampMs }),
  }),
  'node.joined': event({ title: 'Agent joined with a token', about: 'node', data: z.object({ origin: Origin }) }),
  'node.refused': event({
    title: 'Agent refused',
    about: 'node',
    severity: 'warning',
    data: z.object({
      address: z.string().describe('of the client'),
      unrecorded: z.int().describe('further refusals since the last such event'),
    }),
  }),
  'node.credential-revoked': event({
    title: 'Credential of an agent revoked',
    about: 'node',
    severity: 'warning',
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
/** `part`: the interface, engine or instance that differs from what was applied to it. */
const drift = { part: z.string().max(100), difference: z.string().max(300) };

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

  'drift.found': agentEvent({
    title: 'Changed by somebody else',
    about: 'node',
    severity: 'warning',
    data: { ...drift, blocked: z.string().nullable().describe('why it is not repaired; null: it is') },
  }),
  'drift.repaired': agentEvent({
    title: 'As desired again',
    about: 'node',
    data: { ...drift, ms: z.number().describe('since it was found') },
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
    data: { ...process, chains: CHAINS_THERE },
  }),
  'engine.answers': agentEvent({
    title: 'Engine responding again',
    about: 'node',
    data: { ...process, silent_ms: z.number() },
  }),
  'engine.ended': agentEvent({
    title: 'Engine ended',
    about: 'node',
    severity: 'error',
    data: { ...process, how: z.string(), chains: CHAINS_THERE },
  }),

  'port.up': agentEvent({ title: 'Port up', about: 'node', data: { port: z.string() } }),
  'port.down': agentEvent({ title: 'Port down', about: 'node', severity: 'warning', data: { port: z.string() } }),

  'instance.ended': agentEvent({
    title: 'Instance ended',
    about: 'instance',
    severity: 'error',
    data: { how: z.string() },
  }),
  'instance.unresponsive': agentEvent({ title: 'Instance not responding', about: 'instance', severity: 'error' }),
  'instance.answers': agentEvent({
    title: 'Instance responding again',
    about: 'instance',
    data: { silent_ms: z.number() },
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
