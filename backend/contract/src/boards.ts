import { z } from 'zod';
import { Id, Name, type Place, RateBps, TimestampMs } from './common.js';

/** `full` replaces shell and slots and takes the links down; `partial` replaces one slot while the others run (CoNFV IV-D). */
export const LoadKind = z.enum(['full', 'partial']);
export type LoadKind = z.infer<typeof LoadKind>;

/** What happens to frames that reach a slot during a load: they wait in the port, are dropped, or pass unprocessed. */
export const LoadPolicy = z.enum(['hold', 'drop', 'bypass']);
export type LoadPolicy = z.infer<typeof LoadPolicy>;

/** The part of a board that holds one module. */
export const SlotRef = z.strictObject({ board: Name, slot: z.int().min(0).max(15) });
export type SlotRef = z.infer<typeof SlotRef>;

/** Where and how an instance is loaded. */
export const BoardPlace = z.strictObject({
  ...SlotRef.shape,
  load: LoadKind,
  policy: LoadPolicy,
  attached: z
    .literal('switch')
    .optional()
    .describe('the ports of the slot hang on a switch, and its shell writes the next hop; absent: beside the engine'),
});
export type BoardPlace = z.infer<typeof BoardPlace>;

/** As a place of its own to which hops lead: that of a slot whose ports hang on a switch. No server has such a name. */
export function slotPlace({ board, slot }: SlotRef): Place {
  return `${board}.${slot}`;
}

/** Packets that go forward enter a slot by `near` and leave it by `far`; replies take it the other way round. */
export const SLOT_ENDS = ['near', 'far'] as const;
export type SlotEnd = (typeof SLOT_ENDS)[number];

/** The name in links of a port of a board at a switch. */
export function slotPort(end: SlotEnd, slot: number): string {
  return `${end}${slot}`;
}

/** Whether the ports of the instance hang on a switch, so that no engine passes it packets. */
export function isAtSwitch({ board }: { readonly board?: BoardPlace | undefined }): boolean {
  return board?.attached === 'switch';
}

export const BoardBackend = z.enum(['simulated', 'fpga-manager', 'pcie']);
export type BoardBackend = z.infer<typeof BoardBackend>;

/** What an agent knows about a board. */
export const BoardDescription = z.strictObject({
  id: Name,
  backend: BoardBackend,
  emulated: z.boolean().describe('a process simulates its RTL cycle by cycle'),
  note: z.string().max(200).describe('caveat about its figures; empty: none'),
  profile: Name,
  device: z.string().max(80),
  clock_mhz: z.number().positive(),
  shell: z.string().max(60).describe('identity of the static region'),
  slots: z
    .array(z.strictObject({ slot: z.int().min(0).max(15), resources: z.record(Name, z.number().min(0)) }))
    .max(16),
  modules: z.array(Name).max(64).describe('NFs for which it has bitstreams'),
});
export type BoardDescription = z.infer<typeof BoardDescription>;

export const SlotState = z.enum(['empty', 'quiescing', 'loading', 'configuring', 'active', 'faulty', 'unknown']);
export type SlotState = z.infer<typeof SlotState>;

export const SlotLoad = z.strictObject({
  kind: LoadKind,
  policy: LoadPolicy,
  bytes: z.int().min(0),
  bytes_total: z.int().min(1),
});

export const ObservedSlot = z.strictObject({
  slot: z.int().min(0).max(15),
  state: SlotState,
  module: Name.nullable(),
  instance_id: Id.nullable(),
  load: SlotLoad.nullable(),
  reloads: z.boolean().describe('it is being loaded again with what it has run and lost'),
  detail: z.string().nullable(),
});
export type ObservedSlot = z.infer<typeof ObservedSlot>;

/** Outcome of the latest load of a board; counts are of frames that reached the slot during the load. */
export const LoadResult = z.strictObject({
  slot: z.int().min(0).max(15).nullable().describe('null: the whole board'),
  module: Name.nullable(),
  kind: LoadKind,
  policy: LoadPolicy,
  error: z.string().nullable().describe('as reported by the kernel’s FPGA manager'),
  modelled_s: z.number().min(0).describe('set-up time plus bytes / bandwidth, from the board’s profile'),
  measured_s: z.number().min(0).describe('wall-clock time from freezing to releasing the slot'),
  bytes: z.int().min(0),
  held: z.int().min(0),
  lost: z.int().min(0),
  bypassed: z.int().min(0),
});
export type LoadResult = z.infer<typeof LoadResult>;

export const ObservedBoard = z.strictObject({
  id: Name,
  state: z.enum(['operating', 'loading', 'failed', 'absent']),
  detail: z.string().nullable(),
  slots: z.array(ObservedSlot).max(16),
  last_load: LoadResult.nullable(),
});
export type ObservedBoard = z.infer<typeof ObservedBoard>;

/** Reasons of drops of an instance in a slot at a switch, beside those of its module. */
export const SLOT_DROPS = { noHop: 'no-hop', dropped: 'slot-dropped' } as const;

/** Counters since the agent first read the board, over power failures. Board time is cycles / clock, never wall-clock time. */
export const BoardSample = z.strictObject({
  board: Name,
  cycles: z.int().min(0),
  slowdown: z
    .number()
    .min(0)
    .nullable()
    .describe('wall-clock time / board time while busy; null: idle, or real hardware'),
  cpu_share: z.number().min(0).nullable().describe('share of one core that the emulation uses'),
  slots: z.array(
    z.strictObject({
      slot: z.int().min(0).max(15),
      frames_in: z.int().min(0),
      frames_out: z.int().min(0),
      bytes_in: z.int().min(0),
      bytes_out: z.int().min(0),
      lost: z.int().min(0).describe('dropped by the slot or its ports, or lost with the power of the board'),
      bypassed: z.int().min(0),
      no_hop: z
        .int()
        .min(0)
        .default(0)
        .describe('dropped by the shell, which has no next hop for their class; in `frames_out` or `bypassed`, too'),
    }),
  ),
});
export type BoardSample = z.infer<typeof BoardSample>;

/** Figures for one device family from the open-source flow (Yosys, nextpnr); null where the flow reports none. */
export const SynthesisFigures = z.strictObject({
  family: z.string().max(80),
  lut: z.number().min(0),
  ff: z.number().min(0),
  bram_kib: z.number().min(0),
  fmax_mhz: z.number().positive().nullable(),
  note: z.string().max(200),
});
export type SynthesisFigures = z.infer<typeof SynthesisFigures>;

/** A module that boards can load. */
export const BoardModule = z.strictObject({
  id: Name,
  title: z.string().max(60),
  nf: Name.nullable().describe('the NF that it implements; null: a stream module, not part of a chain'),
  published: z
    .strictObject({ source: z.string().max(80), lut: z.number(), ff: z.number(), bram_kib: z.number() })
    .nullable(),
  synthesis: z.array(SynthesisFigures),
});
export type BoardModule = z.infer<typeof BoardModule>;

/** Only plans that name the slot may use it. */
export const SlotReservation = z.strictObject({
  ...SlotRef.shape,
  by: z.string().max(60),
  reason: z.string().max(120),
  since_ms: TimestampMs.describe('when it was made or last renewed; the ETag'),
});
export type SlotReservation = z.infer<typeof SlotReservation>;
export const ReservationRequest = z.strictObject({ reason: z.string().max(120).default('') });

export const AcceleratorSlot = z.strictObject({
  ...ObservedSlot.shape,
  chain_id: Id.nullable().describe('chain whose packets it processes'),
  node_id: Name.nullable(),
  reservation: SlotReservation.nullable(),
});

export type AcceleratorSlot = z.infer<typeof AcceleratorSlot>;

/** A board as the console sees it: its description and what its slots do for which chain. */
export const Accelerator = z.strictObject({
  id: Name,
  title: z.string(),
  origin: z.enum(['twin', 'live']),
  server: Name,
  switches: z.array(Name).max(32).describe('at which its ports hang; empty: beside the engine of its server'),
  device: z.string(),
  clock_mhz: z.number(),
  bandwidth_bps: RateBps,
  resources: z.record(Name, z.number().min(0)).describe('of each slot'),
  load_s: z.strictObject({ full: z.number().min(0), partial: z.number().min(0) }).describe('modelled'),
  state: z
    .enum([...ObservedBoard.shape.state.options, 'starting'])
    .describe('starting: the twin is still building or starting it'),
  detail: z.string().nullable(),
  description: BoardDescription.nullable().describe('null until its agent reports it'),
  slots: z.array(AcceleratorSlot),
  last_load: LoadResult.nullable(),
});
export type Accelerator = z.infer<typeof Accelerator>;
