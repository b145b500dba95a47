import { z } from 'zod';

const Measured = z.number().min(0);

/** One resource of an instance. */
export const ResourceUse = z.strictObject({
  resource: z
    .string()
    .max(60)
    .describe('e.g. `cpu`, `memory`, a table such as `flows`, or a resource of a slot such as `lut`'),
  unit: z.enum(['cores', 'bytes', 'entries', 'cells']),
  used: Measured.nullable(),
  total: Measured.nullable().describe('what it may use at most'),
});
export type ResourceUse = z.infer<typeof ResourceUse>;

/** What get_instance_state tells of any instance (HYPER III-A): performance, workload and resources. */
export const InstanceFigures = z.strictObject({
  window_ms: Measured.describe('over which rates and latencies were measured; 0: not measured'),
  emulated: z.boolean().describe('a process emulates the hardware: rates and latencies are of the emulation'),
  latency_us: z
    .strictObject({ p50: Measured, p99: Measured, packets: z.int().min(0) })
    .nullable()
    .describe('from entering the queue to leaving the NF'),
  throughput: z.strictObject({ pps: Measured, bps: Measured }).nullable().describe('of packets that leave'),
  workload: z
    .strictObject({ pps: Measured, bps: Measured, drops_pps: Measured, queue: z.int().min(0) })
    .nullable()
    .describe('of packets that arrive'),
  resources: z.array(ResourceUse).max(64),
  not_measured: z.record(z.string().max(60), z.string().max(200)).describe('why a figure is null, by its name'),
});
export type InstanceFigures = z.infer<typeof InstanceFigures>;
