import { z } from 'zod';
import { Generation, Id, Name, TimestampMs } from './common.js';
import { SwitchAbilities } from './switch-spec.js';
import { SplitSample } from './telemetry.js';

export const ObservedPort = z.strictObject({
  name: Name,
  number: z.int().min(0).nullable().describe('port number at the switch; null: no such port'),
  up: z.boolean(),
});
export type ObservedPort = z.infer<typeof ObservedPort>;

export const MOST_REPAIRED_RULES = 1000;

/** The state of a switch as its agent sees it. */
export const ObservedSwitch = z.strictObject({
  generation: Generation.describe('newest generation that is installed'),
  state: z.enum(['converged', 'progressing', 'failed']),
  entries: z.int().min(0).nullable().describe('installed entries; null: not reported'),
  repairs: z.int().min(0).describe('times that the agent reverted foreign changes'),
  repaired_rules: z
    .array(Id)
    .max(MOST_REPAIRED_RULES)
    .default([])
    .describe('rules whose entries or groups the last repair restored'),
  ports: z.array(ObservedPort).max(1024),
  error: z.string().max(2000).nullable(),
});
export type ObservedSwitch = z.infer<typeof ObservedSwitch>;

export const SwitchDescription = z.strictObject({
  driver: z.string().max(40),
  software: z.string().max(200).nullable().describe('software and version as the switch reports them; null: no answer'),
  abilities: SwitchAbilities,
});
export type SwitchDescription = z.infer<typeof SwitchDescription>;

const Count = z.int().min(0);

/** What an NF on a switch has counted since its agent started. */
export const SwitchNfSample = z.strictObject({
  instance_id: Id,
  packets_in: Count,
  packets_out: Count,
  bytes_in: Count,
  bytes_out: Count,
  drops: z.record(z.string().max(60), Count).describe('by reason'),
});
export type SwitchNfSample = z.infer<typeof SwitchNfSample>;

/** Between these a `RuleLatency` is exact to half an octave; they stand for all that is below and above. */
export const STAMPED_US = { least: 23, most: 741_455 } as const;

/**
 * Of packets of a class: the time from the switch into its chain and back, one packet in 16, over the last ten seconds. Fragments,
 * packets without an identification (RFC 6864), those that an NF readdressed, and those that left their chain at another switch
 * have none.
 */
export const RuleLatency = z.strictObject({
  packets: z.int().min(1).describe('that were stamped and came back'),
  p50_us: z
    .number()
    .min(0)
    .describe(`exact to half an octave; ${STAMPED_US.least} also: less; ${STAMPED_US.most} also: more`),
  p99_us: z.number().min(0).describe('so exact, too; of fewer than 100 packets that of the slowest'),
});
export type RuleLatency = z.infer<typeof RuleLatency>;

/** Counters since an entry was installed; they restart from zero when it is rewritten. */
export const SwitchSamples = z.strictObject({
  t_ms: TimestampMs,
  interval_ms: z.number().positive(),
  lost: Count.describe('sample sets dropped since the agent started because there was no receiver'),
  generation: Generation.describe('generation of the specification whose entries are counted'),
  entries: z
    .array(z.tuple([Count, Count, Count]))
    .max(1_000_000)
    .describe('[index in the specification, packets, bytes] of entries with nonzero counters'),
  rules: z
    .array(z.strictObject({ rule_id: Id, packets: Count, bytes: Count, latency: RuleLatency.optional() }))
    .max(65536),
  nfs: z.array(SwitchNfSample).max(1024).optional().describe('NFs that it runs; absent: none'),
  splits: z.array(SplitSample).max(4096).default([]).describe('of the rules whose flows it keeps, by their ids'),
});
export type SwitchSamples = z.infer<typeof SwitchSamples>;
