import { z } from 'zod';
import { RateBps } from '../../common.js';
import { durationS, family, port, to } from '../fields.js';
import { defineKind } from '../kind.js';

export const Iperf3ClientConfig = z.strictObject({
  to,
  family,
  port: port(5201),
  protocol: z
    .union([z.literal('udp').meta({ title: 'UDP' }), z.literal('tcp').meta({ title: 'TCP' })])
    .default('udp')
    .meta({ title: 'Protocol' }),
  rate_bps: RateBps.min(1000).default(10_000_000).meta({ title: 'Rate', unit: 'bps' }),
  packet_bytes: z.int().min(64).max(1460).default(1400).meta({ title: 'Packet', unit: 'bytes' }),
  duration_s: durationS,
});
export type Iperf3ClientConfig = z.infer<typeof Iperf3ClientConfig>;

export const IPERF3_CLIENT = defineKind({
  kind: 'iperf3-client',
  title: 'iperf3 client',
  description: 'Sends a TCP or UDP stream at a fixed rate to an iperf3 server.',
  runs_on: ['host', 'server', 'gateway'],
  config: Iperf3ClientConfig,
  metrics: ['sent', 'received', 'lost', 'bits_per_second'],
  listens: () => [],
});
