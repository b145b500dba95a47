import { z } from 'zod';
import { SlotRef } from './boards.js';
import { Id, MOST_RATE_BPS, Name, Origin, TimestampMs } from './common.js';
import { NfRef } from './reconfiguration.js';

/**
 * What one VNF at a time may use. `instructions`: those for cryptography that the processor of a server has, for VNFs of that
 * server. `slot`: of a board, to which any VNF that it can run moves for the time.
 */
export const LentAccelerator = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('instructions'), server: Name }),
  z.strictObject({ kind: z.literal('slot'), ...SlotRef.shape }),
]);
export type LentAccelerator = z.infer<typeof LentAccelerator>;

/** Of one group. */
export const MAX_ACCELERATORS = 32;

const SLOT_NAME = /^(.*)\/slot-(\d+)$/;

/** Its name in turns and events: `server-1/instructions`, `board-1/slot-0`. */
export function acceleratorName(accelerator: LentAccelerator): string {
  if (accelerator.kind === 'slot') return `${accelerator.board}/slot-${accelerator.slot}`;
  return `${accelerator.server}/instructions`;
}

/** The accelerator of this name. */
export function acceleratorNamed(name: string): LentAccelerator {
  const [, board, slot] = SLOT_NAME.exec(name) ?? [];
  if (board !== undefined) return { kind: 'slot', board, slot: Number(slot) };
  return { kind: 'instructions', server: name.slice(0, name.indexOf('/')) };
}

/** Who gets an accelerator; all but `ssm` are baselines (SSM II.B). */
export const LendingStrategy = z.enum(['ssm', 'static', 'round-robin']);
export type LendingStrategy = z.infer<typeof LendingStrategy>;

/** What usage is a share of. `cpu`: the VNF's own CPU limit. `bps`: `max_bps`. */
export const LendingUsage = z.enum(['cpu', 'bps']);
export type LendingUsage = z.infer<typeof LendingUsage>;

const groupFields = {
  title: z.string().min(1).max(80).regex(/\S/, 'must not be blank'),
  enabled: z.boolean().default(true),
  chains: z.array(Id).max(64).default([]).describe('all their NFs that can use an accelerator of the group'),
  nfs: z.array(NfRef).max(64).default([]).describe('single NFs, besides those of `chains`'),
  accelerators: z.array(LentAccelerator).min(1).max(MAX_ACCELERATORS),
  strategy: LendingStrategy.default('ssm'),
  usage: LendingUsage.default('cpu'),
  max_bps: z.number().min(1000).max(MOST_RATE_BPS).nullable().default(null).describe('the full rate, for usage `bps`'),
  th_up: z.number().gt(0).max(1).default(0.75).describe('a VNF qualifies above this share of its maximum'),
  th_low: z.number().min(0).max(1).default(0.65).describe('a holder gives up below this share of its maximum'),
  slice_s: z.number().min(1).max(3600).default(11).describe('a holder keeps it at least this long while others wait'),
};

type Fields = z.output<z.ZodObject<typeof groupFields>>;

export const LendingGroupRequest = z
  .strictObject(groupFields)
  .refine(({ th_up, th_low }: Fields) => th_low < th_up, {
    path: ['th_low'],
    message: 'must be below the upper threshold',
  })
  .refine(({ chains, nfs }: Fields) => chains.length + nfs.length > 0, {
    path: ['chains'],
    message: 'must name a chain, or nfs an NF',
  })
  .refine(({ usage, max_bps }: Fields) => usage !== 'bps' || max_bps !== null, {
    path: ['max_bps'],
    message: 'must be given for usage by bit rate',
  });
export type LendingGroupRequest = z.infer<typeof LendingGroupRequest>;

/** Why an accelerator was granted or released. */
export const LendingWhy = z.enum(['overload', 'turn', 'idle', 'slice-over', 'gone', 'away', 'failed', 'disabled']);
export type LendingWhy = z.infer<typeof LendingWhy>;

/**
 * An accelerator of a group now. `unknown`: whether its holder has it is being asked. `used`: its holder uses it without
 * a loan. `away`: its server is. `broken`: the slot or its board does not work, or is in maintenance. `lacking`: the processor
 * lacks what the VNFs on that server need, or the slot can run no VNF of the group.
 */
export const LentNow = z.strictObject({
  accelerator: z.string().max(120).describe('its name'),
  state: z.enum(['free', 'granting', 'held', 'releasing', 'unknown', 'used', 'away', 'broken', 'lacking']),
  holder: Id.nullable(),
  held_s: z.number().min(0).nullable(),
  origin: Origin.describe('of its server or board'),
});
export type LentNow = z.infer<typeof LentNow>;

/** A VNF that takes part. */
export const LendingMember = z.strictObject({
  instance_id: Id.describe('in software, also while it is in a slot that it was lent'),
  ...NfRef.shape,
  server: Name.describe('of its board, while it is in a slot'),
  slot: SlotRef.nullable().describe('in which it runs; null: in software'),
  origin: Origin,
  usage: z
    .number()
    .min(0)
    .nullable()
    .describe('share of its maximum that thresholds are compared with; null: not measured lately'),
  cpu_share: z.number().min(0).nullable().describe('share of one core'),
  cpu_limit: z.number().positive().nullable(),
  bps: z.number().min(0).nullable(),
  accelerated: z.boolean().nullable().describe('null: its element manager does not say'),
  lacks: z.boolean().describe('it can use no accelerator of the group, so that it does not take part'),
  waits_for: z.string().max(300).nullable().describe('why it can be moved to no slot now, as a sentence'),
  accelerator: z.string().max(120).nullable().describe('lent to it'),
  time_s: z.number().min(0).describe('of those that qualify, the one with the least is first'),
  held_s: z.number().min(0),
  waited_s: z.number().min(0).describe('qualified without an accelerator'),
});
export type LendingMember = z.infer<typeof LendingMember>;

/** VNFs that take turns at accelerators (SSM). */
export const LendingGroup = z.strictObject({
  id: Id,
  ...groupFields,
  revision: z.int().min(1).describe('the ETag'),
  state: z
    .enum(['lending', 'paused', 'disabled', 'without-vnfs'])
    .describe('paused: the control loop is; holders keep'),
  accelerators_now: z.array(LentNow),
  members: z.array(LendingMember),
  fairness: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .describe('Jain’s index of the accelerator time of those that wanted one'),
  switch_ms: z.number().min(0).nullable().describe('median of the last hand-overs; null: none yet'),
  switches: z.int().min(0).max(20).describe('hand-overs that `switch_ms` is the median of'),
  overhead: z.number().min(0).max(1).nullable().describe('Tsw / (Tsw + T)'),
  turns_dropped: z.int().min(0).describe('turns that ended and are no longer kept'),
});
export type LendingGroup = z.infer<typeof LendingGroup>;

/** Who had an accelerator from when to when. */
export const LendingTurn = z.strictObject({
  id: Id,
  group_id: Id,
  accelerator: z.string().max(120).describe('its name'),
  instance_id: Id,
  ...NfRef.shape,
  from_ms: TimestampMs,
  to_ms: TimestampMs.nullable().describe('null: it still has it'),
  why: LendingWhy,
  ended: LendingWhy.nullable(),
  switch_ms: z
    .number()
    .min(0)
    .nullable()
    .describe('of a hand-over: for which nobody could use it before; null: nobody gave it up for this turn'),
});
export type LendingTurn = z.infer<typeof LendingTurn>;
