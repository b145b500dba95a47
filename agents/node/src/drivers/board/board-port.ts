import type { LoadKind, LoadPolicy, LoadResult, ObservedSlot, SlotState } from '@orrery/contract';

/** Progress of a load. */
export type SlotLoad = NonNullable<ObservedSlot['load']>;

/** A failed board operation. `refused`: it would fail again; `lost`: the outcome is unknown. */
export class BoardError extends Error {
  override name = 'BoardError';
  constructor(
    message: string,
    readonly kind: 'refused' | 'failed' | 'lost',
  ) {
    super(message);
  }
}

/** A bitstream and its contents. */
export interface BoardImage {
  path: string;
  bytes: number;
  kind: LoadKind;
  /** Modules by slot; a partial image has one slot, a full one gives the content of every slot (null: empty). */
  modules: ReadonlyMap<number, string | null>;
}

export interface DeviceDescription {
  emulated: boolean;
  /** What a reader must know before trusting its figures. */
  note: string;
  profile: string;
  device: string;
  clock_hz: number;
  shell: string;
  slots: { slot: number; resources: Record<string, number> }[];
  images: BoardImage[];
}

/** Since power-on. */
export interface SlotCounters {
  frames_in: number;
  frames_out: number;
  bytes_in: number;
  bytes_out: number;
  /** By the slot's policy, and by its ports. */
  dropped: number;
  bypassed: number;
  /** Dropped by the shell, which has no next hop for them; they count as out or bypassed, too. */
  no_hop: number;
  /** Frames waiting for the slot to accept them. */
  held: number;
}

export interface SlotStatus {
  slot: number;
  state: SlotState;
  /** The NF or stream module in it. */
  module: string | null;
  load: SlotLoad | null;
  counters: SlotCounters;
  error: string | null;
}

type Interruption = Pick<LoadResult, 'held' | 'lost' | 'bypassed'>;

export interface BoardStatus {
  /** In the vocabulary of the kernel's fpga_manager. */
  state: string;
  cycles: number;
  /** Wall-clock time / board time while it is busy; null: idle, or real silicon. */
  slowdown: number | null;
  /** CPU time that the emulation used, and the wall-clock time over which it did; null for real silicon. */
  cpu: { used_s: number; wall_s: number } | null;
  /** Frames affected by the latest load, until its slots resumed; null if the board does not count them. */
  interrupted: Interruption | null;
  slots: SlotStatus[];
}

export interface LoadOrder {
  /** Null: the whole board. */
  slot: number | null;
  kind: LoadKind;
  policy: LoadPolicy;
  image: BoardImage;
}

export const EVENT_WORDS = 8;

export interface ModuleEvent {
  slot: number;
  words: readonly number[];
}

export interface BoardListener {
  event(event: ModuleEvent): void;
  /** Events that came too fast and were dropped. */
  eventsLost(count: number): void;
  /** Called once: the board is unreachable until it is opened again. */
  lost(why: string): void;
}

/** Registers of one slot, or of the shell. */
export type RegisterSpace = number | 'shell';
export type RegisterWrite = readonly [address: number, value: number];

/** One flow table entry of 32 bytes. */
export const ENTRY_WORDS = 8;
export type TableEntry = readonly number[];

/** What every kind of board can do. Calls reject with a BoardError. */
export interface BoardPort {
  open(listener: BoardListener): Promise<DeviceDescription>;
  close(): void;
  status(): Promise<BoardStatus>;
  /**
   * Holds, drains and decouples; loads; leaves the slot decoupled with its registers accessible. If the board refuses
   * the load, it resolves with `error`.
   */
  load(order: LoadOrder, onProgress: (load: SlotLoad) => void): Promise<LoadResult>;
  unload(slot: number): Promise<void>;
  /** Afterwards no frame is in the slot and none enters. */
  quiesce(slot: number): Promise<void>;
  resume(slot: number): Promise<void>;
  readRegisters(space: RegisterSpace, addresses: readonly number[]): Promise<number[]>;
  writeRegisters(space: RegisterSpace, writes: readonly RegisterWrite[]): Promise<void>;
  exportTable(slot: number, most: number): Promise<TableEntry[]>;
  /** Inserts by key. Resolves with how many did not fit. */
  importTable(slot: number, entries: readonly TableEntry[]): Promise<number>;
  /** Sends frames into a stream module and returns its output, in order. */
  stream(slot: number, frames: readonly Buffer[], timeout_ms: number): Promise<Buffer[]>;
}
