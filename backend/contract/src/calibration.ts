import { z } from 'zod';
import { Name, TimestampMs } from './common.js';

const Time = z.number().min(0).max(1e9);

/** What packets take beyond the model's service and queues, estimated from windows of a running chain's exit histogram. */
export const Overhead = z.strictObject({
  mean_us: Time.describe('median over the windows of the mean that a packet takes'),
  mean_error_us: Time.describe('robust standard deviation of that mean from window to window (1.4826 MAD)'),
  sd_us: Time.describe('median over the windows of the standard deviation between packets'),
  sd_error_us: Time.describe('robust standard deviation of that deviation from window to window'),
  windows: z.int().min(1),
  packets: z.int().min(1).describe('in these windows'),
  measured_ms: TimestampMs.describe('end of the last window'),
});
export type Overhead = z.infer<typeof Overhead>;

/** The planner's model of latency, adjusted to the machines by what was measured on them. */
export const Calibration = z.strictObject({
  entries: z
    .record(Name, Overhead)
    .default({})
    .describe('by server: until a sleeping core takes up a packet that enters the server; absent: not calibrated'),
  hop: Overhead.nullable()
    .default(null)
    .describe('from server to server beyond the delays of the links, until a sleeping core takes the packet up'),
});
export type Calibration = z.infer<typeof Calibration>;
