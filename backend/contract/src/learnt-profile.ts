import { z } from 'zod';
import { Name, Origin, TimestampMs } from './common.js';
import { CostProfile } from './cost-profile.js';

export const LearnRequest = z.strictObject({
  driver: z.enum(['engine', 'process', 'container']).default('engine').describe('of the implementation'),
  dry_run: z
    .boolean()
    .default(true)
    .describe('tells what is measured beside what the descriptor says, and changes nothing'),
});
export type LearnRequest = z.infer<typeof LearnRequest>;

/** What packets of an NF cost its core, as running instances measured it. */
export const MeasuredProfile = z.strictObject({
  driver: LearnRequest.shape.driver,
  factor: z.number().min(0.001).max(1000).describe('median of measured by declared cycles'),
  spread: z.number().min(0).describe('robust standard deviation of that factor between samples, by the factor'),
  samples: z.int().min(1),
  packet_bytes: z.number().min(0).describe('mean length of the packets'),
  servers: z.array(Name).min(1).describe('where it was measured'),
  origin: Origin.describe('twin: at least one of them is emulated, so that the clock of its machine may differ'),
  declared: CostProfile,
  cost: CostProfile.describe('declared, with the cycles times the factor; memory and base latency are not measured'),
});
export type MeasuredProfile = z.infer<typeof MeasuredProfile>;

/** A measured profile that plans use in place of the declared one. */
export const LearntProfile = MeasuredProfile.extend({ by: z.string(), learnt_ms: TimestampMs });
export type LearntProfile = z.infer<typeof LearntProfile>;

export const LearnAnswer = z.strictObject({
  measured: MeasuredProfile.nullable().describe('null: no instance with the driver was measured'),
  refusal: z.string().nullable().describe('why it cannot be learnt; null: it can'),
  learnt: z.boolean().describe('false: a dry run'),
});
export type LearnAnswer = z.infer<typeof LearnAnswer>;
