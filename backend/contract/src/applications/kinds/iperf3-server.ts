import { z } from 'zod';
import { port } from '../fields.js';
import { defineKind } from '../kind.js';

export const Iperf3ServerConfig = z.strictObject({ port: port(5201) });
export type Iperf3ServerConfig = z.infer<typeof Iperf3ServerConfig>;

export const IPERF3_SERVER = defineKind({
  kind: 'iperf3-server',
  title: 'iperf3 server',
  description: 'Receives streams from iperf3 clients, one at a time.',
  runs_on: ['host', 'server', 'gateway'],
  config: Iperf3ServerConfig,
  metrics: ['received', 'lost', 'bits_per_second'],
  // The control connection is TCP; UDP streams use the same port number.
  listens: ({ port: number }) =>
    (['tcp', 'udp'] as const).map((protocol) => ({ protocol, port: number, pointer: '/config/port' })),
});
