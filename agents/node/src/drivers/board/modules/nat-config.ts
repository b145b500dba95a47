import { Ipv4Address, Port } from '@orrery/contract';
import { z } from 'zod';
import { MOST_IDLE_S } from './flows.js';

export const NatConfig = z
  .strictObject({
    external_addresses: z
      .array(Ipv4Address)
      .min(1)
      .max(16)
      .refine((all) => new Set(all).size === all.length, 'an address appears twice'),
    mode: z.literal('dynamic', 'a board translates in mode dynamic only').default('dynamic'),
    port_lo: Port.min(1).default(1024),
    port_hi: Port.min(1).default(65_535),
    idle_timeout_s: z.int().min(1).max(MOST_IDLE_S, `a board keeps a flow for at most ${MOST_IDLE_S} s`).default(120),
    /** The host allocates mappings: up to this many, and no more than the table holds. */
    max_flows: z.int().min(1).max(1_048_576).default(65_536),
    /** Of another mode. */
    max_peers: z.int().min(1).max(1_048_576).default(131_072),
  })
  .refine(({ port_lo, port_hi }) => port_lo <= port_hi, { path: ['port_hi'], message: 'must not be below port_lo' });
export type NatConfig = z.infer<typeof NatConfig>;
