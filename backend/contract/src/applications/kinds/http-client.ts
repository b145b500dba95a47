import { z } from 'zod';
import { durationS, family, port, to } from '../fields.js';
import { defineKind } from '../kind.js';

export const HttpClientConfig = z.strictObject({
  to,
  family,
  port: port(80),
  path: z
    .string()
    .regex(/^\/[\x21-\x7e]*$/, 'must start with "/" and contain only visible ASCII')
    .max(500)
    .default('/')
    .meta({ title: 'Path' }),
  body: z.string().max(4096).default('').describe('empty: GET; otherwise POST').meta({ title: 'Body' }),
  rate_per_s: z.number().positive().max(2000).default(10).meta({ title: 'Rate', unit: 'requests/s' }),
  count: z.int().min(0).max(1_000_000).default(0).describe('0: no limit').meta({ title: 'Requests', unit: 'requests' }),
  duration_s: durationS,
});
export type HttpClientConfig = z.infer<typeof HttpClientConfig>;

export const HTTP_CLIENT = defineKind({
  kind: 'http-client',
  title: 'HTTP client',
  description: 'Sends requests at a fixed rate, each over a new connection, and measures the response time.',
  runs_on: ['host'],
  config: HttpClientConfig,
  metrics: ['sent', 'received', 'errors', 'bits_per_second', 'latency_p50_us', 'latency_p99_us'],
  listens: () => [],
});
