import { z } from 'zod';
import { Id } from '../../common.js';
import { durationS } from '../fields.js';
import { defineKind } from '../kind.js';

export const PcapReplayConfig = z.strictObject({
  pcap_id: Id.meta({ title: 'Capture', reference: 'capture' }),
  rate_pps: z.number().positive().max(100_000).default(1000).meta({ title: 'Rate', unit: 'pps' }),
  loops: z.int().min(1).max(1000).default(1).meta({ title: 'Times' }),
  duration_s: durationS,
});
export type PcapReplayConfig = z.infer<typeof PcapReplayConfig>;

export const PCAP_REPLAY = defineKind({
  kind: 'pcap-replay',
  title: 'Capture replay',
  description: "Sends the frames of an uploaded capture from the node's interface, with its MAC addresses.",
  runs_on: ['host'],
  config: PcapReplayConfig,
  metrics: ['sent', 'errors', 'bits_per_second'],
  listens: () => [],
});
