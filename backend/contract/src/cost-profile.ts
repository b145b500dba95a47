import { z } from 'zod';
import { Bytes, DelayUs } from './common.js';

/** Cost of one packet; rates follow from the cycles and the server's clock. */
export const CostProfile = z.strictObject({
  cycles_per_packet: z.number().min(0.001).max(1e9),
  cycles_per_byte: z.number().min(0).max(1e6).default(0),
  base_latency_us: DelayUs,
  memory_bytes: Bytes,
  scales_with: z
    .strictObject({ field: z.string().min(1).max(40), of: z.number().min(0.001).max(1e9) })
    .optional()
    .describe(
      'number in the configuration that the cycles are proportional to; those given are with the value `of`. Absent: none',
    ),
});
export type CostProfile = z.infer<typeof CostProfile>;
