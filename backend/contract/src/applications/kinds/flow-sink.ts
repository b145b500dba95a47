import { z } from 'zod';
import { port } from '../fields.js';
import { defineKind } from '../kind.js';

export const FlowSinkConfig = z.strictObject({ port: port(9100) });
export type FlowSinkConfig = z.infer<typeof FlowSinkConfig>;

export const FLOW_SINK = defineKind({
  kind: 'flow-sink',
  title: 'Flow sink',
  description:
    'Receives the packets of flow generators and answers none. For each flow it tells what was lost, overtaken or doubled, and the longest gap beyond that of the sender. Both nodes must share a clock, as in the twin.',
  runs_on: ['host'],
  config: FlowSinkConfig,
  metrics: [
    'received',
    'bytes',
    'lost',
    'reordered',
    'duplicates',
    'flows_started',
    'flows_ended',
    'flows',
    'flows_with_loss',
    'max_gap_us',
    'errors',
    'bits_per_second',
    'latency_p50_us',
    'latency_p99_us',
  ],
  listens: ({ port: number }) =>
    (['udp', 'tcp'] as const).map((protocol) => ({ protocol, port: number, pointer: '/config/port' })),
});
