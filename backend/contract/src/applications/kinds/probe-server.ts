import { z } from 'zod';
import { port } from '../fields.js';
import { defineKind } from '../kind.js';

export const ProbeServerConfig = z.strictObject({ port: port(9000) });
export type ProbeServerConfig = z.infer<typeof ProbeServerConfig>;

export const PROBE_SERVER = defineKind({
  kind: 'probe-server',
  title: 'Probe server',
  description: 'Timestamps arriving probes and returns the timestamp to the sender.',
  runs_on: ['host'],
  config: ProbeServerConfig,
  metrics: ['received', 'errors'],
  listens: ({ port: number }) => [{ protocol: 'udp', port: number, pointer: '/config/port' }],
});
