import { z } from 'zod';
import { Id, TimestampMs } from './common.js';

/** Kinds of accelerators between which and software an NF can switch by itself, while its sessions stay up. */
export const AcceleratorKind = z.enum(['instructions']);
export type AcceleratorKind = z.infer<typeof AcceleratorKind>;

/** What a processor has, by the names that Linux gives it in /proc/cpuinfo. */
export const CpuFeature = z.enum(['aes', 'sha_ni', 'vaes', 'avx2', 'avx512f']);
export type CpuFeature = z.infer<typeof CpuFeature>;

/** How an NF is switched to an accelerator of its server and back: by one setting that can change at any time. */
export const AcceleratedMode = z.strictObject({
  kind: AcceleratorKind,
  setting: z.string().min(1).max(40).describe('field of the configuration that can change while sessions stay up'),
  accelerated: z.string().min(1).max(40).describe('its value with the accelerator'),
  plain: z.string().min(1).max(40).describe('its value without'),
  cpu_features: z
    .array(CpuFeature)
    .max(CpuFeature.options.length)
    .describe('that the processor of the server must have'),
});
export type AcceleratedMode = z.infer<typeof AcceleratedMode>;

/** Most of one core that an NF in a container may use. */
export const CpuLimit = z.number().min(0.02).max(1);

/** What the agent of a server tells of an NF that can be switched. */
export const ObservedElement = z.strictObject({
  accelerated: z.boolean(),
  kinds: z.array(AcceleratorKind).max(4).describe('accelerators of its server that it can switch to'),
  cpu_limit: CpuLimit.nullable().describe('most of a core that it may use; null: a whole one'),
  switched_ms: TimestampMs.nullable().describe('when it was last switched; null: not since it or its agent started'),
});
export type ObservedElement = z.infer<typeof ObservedElement>;

/** What the element manager of an NF instance tells (ETSI NFV EM). */
export const ElementState = z.strictObject({
  instance_id: Id,
  accelerated: z.boolean(),
  kinds: z
    .array(AcceleratorKind)
    .max(4)
    .describe('accelerators of its server that it can switch to by itself; empty: the server has none'),
  cpu_share: z.number().min(0).nullable().describe('share of one core over the last second; null: not measured'),
  cpu_limit: z.number().positive().nullable().describe('most of a core that it may use; null: a whole one'),
  bps: z.number().min(0).nullable().describe('bits that reached it in a second; null: not measured'),
  switched_ms: TimestampMs.nullable().describe('when it was last switched; null: not since it or its agent started'),
});
export type ElementState = z.infer<typeof ElementState>;
