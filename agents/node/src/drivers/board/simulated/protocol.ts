import { LoadKind, LoadPolicy, SlotState } from '@orrery/contract';
import { z } from 'zod';
import { moduleName } from '../module-names.js';

const Count = z.number().min(0);
const Slot = z.int().min(0).max(15);

/** Renames `bram_kib` of a profile to `bram-kib`, the spelling used for resources everywhere else. */
const Resources = z
  .record(z.string(), z.number().min(0))
  .transform((all) => Object.fromEntries(Object.entries(all).map(([name, n]) => [name.replaceAll('_', '-'), n])));

/** Answers of boardd, as far as they are used here; unknown fields are allowed. */
export const Described = z.object({
  profile: z.string(),
  device: z.string(),
  clock_hz: z.number().positive(),
  shell_uuid: z.string(),
  slots: z.array(z.object({ slot: Slot, region: z.string(), resources: Resources })).max(16),
  library: z.array(z.object({ name: z.string(), uuid: z.string() })).max(256),
});

const Loading = z.object({ kind: LoadKind, bytes: Count, bytes_total: Count, policy: LoadPolicy });

const LastLoad = z.object({
  id: z.int(),
  state: z.string(),
  error: z.string().nullable(),
  modelled_s: Count,
  measured_s: Count,
  held: Count,
  lost: Count,
  bypassed: Count,
  bytes: Count,
});

const ModuleName = z.object({ name: z.string() }).transform(({ name }) => moduleName(name));

export const Status = z.object({
  board: z.object({
    state: z.string(),
    cycles: Count,
    board_ns: Count,
    wall_ns: Count,
    slowdown: z.number().min(0).nullable(),
    cpu_s: Count,
  }),
  slots: z
    .array(
      z.object({
        slot: Slot,
        state: SlotState,
        module: ModuleName.nullable(),
        load: Loading.nullable(),
        counters: z.object({
          frames_in: Count,
          frames_out: Count,
          bytes_in: Count,
          bytes_out: Count,
          dropped: Count,
          bypassed: Count,
          no_hop: Count,
          held: Count,
        }),
        error: z.string().nullable(),
      }),
    )
    .max(16),
  ports: z.array(z.object({ slot: Slot, drops: z.record(z.string(), Count) })).max(32),
  last_load: LastLoad.nullable(),
});

const Word = z.int().min(0).max(0xffffffff);

export const Begun = z.object({ id: z.int() });
export const Done = z.object({});
export const Words = z.object({ values: z.array(Word) });
export const Entries = z.object({ entries: z.array(z.array(Word).length(8)) });
export const Imported = z.object({ refused: z.int().min(0).default(0) });
export const Frames = z.object({ frames: z.array(z.string().regex(/^([0-9a-f]{2})*$/)) });

/** A line of the event socket: an event of a module, a change of state, or how many did not fit. */
export const EventLine = z.union([
  z.object({ type: z.literal('module'), slot: Slot, words: z.array(Word).length(8) }),
  z.object({ type: z.literal('lost').default('lost'), lost: z.int().min(1) }),
  z.object({ type: z.enum(['slot', 'board']) }),
]);
