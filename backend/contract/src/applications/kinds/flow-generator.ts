import { z } from 'zod';
import { durationS, family, port, to } from '../fields.js';
import { defineKind } from '../kind.js';

/** How many flows a generator has in progress at most; it begins none beyond. */
export const FLOWS_IN_PROGRESS_MAX = 50_000;

const rate = z.number().min(0).max(10e9);

/** A point of the total rate over time. */
const WavePoint = z
  .strictObject({
    at_s: z.number().min(0).max(86_400).default(0).meta({ title: 'At', unit: 's' }),
    rate_bps: rate.default(10_000_000).meta({ title: 'Rate', unit: 'bps' }),
  })
  .meta({ title: 'Point' });

const Wave = z
  .array(WavePoint)
  .max(100)
  .superRefine((points, context) => {
    for (const [i, { at_s }] of points.entries())
      if (i > 0 && at_s <= points[i - 1]!.at_s)
        context.addIssue({ code: 'custom', path: [i, 'at_s'], message: 'must be later than the point before it' });
  });

export const FlowGeneratorConfig = z.strictObject({
  to,
  family,
  port: port(9100),
  flows_per_s: z
    .number()
    .positive()
    .max(20_000)
    .default(20)
    .describe(
      `on average; they arrive at random (Poisson). No flow begins while ${FLOWS_IN_PROGRESS_MAX} are in progress`,
    )
    .meta({ title: 'New flows', unit: 'flows/s' }),
  distribution: z
    .union([
      z.literal('benson-2010').meta({ title: 'Data centres (Benson 2010)' }),
      z.literal('web-search').meta({ title: 'Web search (DCTCP 2010)' }),
      z.literal('data-mining').meta({ title: 'Data mining (VL2 2009)' }),
    ])
    .default('benson-2010')
    .describe('of sizes, and of lifetimes where they are published; else a flow lives in proportion to its size')
    .meta({ title: 'Distribution' }),
  mean_bytes: z
    .number()
    .min(0)
    .max(1e9)
    .default(0)
    .describe('sizes are scaled to this mean; 0: as published (62 kB, 1.7 MB, 12.8 MB)')
    .meta({ title: 'Mean size', unit: 'bytes' }),
  mean_lifetime_s: z
    .number()
    .min(0.01)
    .max(3600)
    .default(5)
    .describe('lifetimes are scaled to this mean; times the new flows per second, it is how many are in progress')
    .meta({ title: 'Mean lifetime', unit: 's' }),
  tcp_share: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe(
      'from 0 to 1: of the flows, those whose packets are those of a TCP sender: SYN, data, FIN. They wait for no answer and repeat nothing, so it is no TCP. The other flows are UDP',
    )
    .meta({ title: 'Share of TCP-like flows' }),
  packets: z
    .union([
      z.literal('fixed').meta({ title: 'Of one size' }),
      z.literal('imix').meta({ title: 'Mix of sizes (simple IMIX)' }),
    ])
    .default('fixed')
    .describe('the mix: 7 of the smallest, 4 of 590 bytes, 1 of 1514 bytes')
    .meta({ title: 'Packets' }),
  packet_bytes: z
    .int()
    .min(106)
    .max(1514)
    .default(1400)
    .describe('from the Ethernet header on, without checksum; not for the mix')
    .meta({ title: 'Packet', unit: 'bytes' }),
  rate_bps: rate
    .default(0)
    .describe('kept in total: flows in progress share it as their sizes and lifetimes say. 0: as these have it')
    .meta({ title: 'Total rate', unit: 'bps' }),
  wave: Wave.default([])
    .describe('the total rate over time, instead of a constant one; linear between points')
    .meta({ title: 'Wave' }),
  wave_repeats: z
    .boolean()
    .default(false)
    .describe('it begins again at its last point, which is where it stays otherwise')
    .meta({ title: 'Repeat wave' }),
  seed: z
    .int()
    .min(0)
    .max(2 ** 31 - 1)
    .default(1)
    .describe('the same flows for the same seed')
    .meta({ title: 'Seed' }),
  duration_s: durationS,
});
export type FlowGeneratorConfig = z.infer<typeof FlowGeneratorConfig>;

export const FLOW_GENERATOR = defineKind({
  kind: 'flow-generator',
  title: 'Flow generator',
  description:
    'Sends many flows at once to a flow sink, with published distributions of sizes and lifetimes. Packets carry a number and the time at which they were sent.',
  runs_on: ['host'],
  config: FlowGeneratorConfig,
  metrics: [
    'sent',
    'bytes',
    'late',
    'flows_started',
    'flows_ended',
    'flows',
    'flows_refused',
    'errors',
    'bits_per_second',
  ],
  listens: () => [],
});
