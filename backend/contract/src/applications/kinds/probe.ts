import { z } from 'zod';
import { durationS, family, port, to } from '../fields.js';
import { defineKind } from '../kind.js';

export const ProbeConfig = z.strictObject({
  to,
  family,
  port: port(9000),
  rate_per_s: z.number().positive().max(1000).default(50).meta({ title: 'Rate', unit: 'probes/s' }),
  duration_s: durationS,
});
export type ProbeConfig = z.infer<typeof ProbeConfig>;

export const PROBE = defineKind({
  kind: 'probe',
  title: 'Latency probe',
  description:
    'Sends small UDP packets to a probe server to measure one-way latency and loss. Both nodes must share a clock, as in the twin.',
  runs_on: ['host'],
  config: ProbeConfig,
  metrics: ['sent', 'received', 'lost', 'bits_per_second', 'latency_p50_us', 'latency_p99_us'],
  listens: () => [],
});
