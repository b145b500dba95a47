import type { LoadKind, LoadPolicy, LoadResult, ObservedSlot, SlotState } from '@orrery/contract';

/** How far a load is. */
export type SlotLoad = NonNullable<ObservedSlot['load']>;

/** A board did not do what it was asked to. `refused`: it never will, as things are; `lost`: nobody knows what it did. */
export class BoardError extends Error {
  override name = 'BoardError';
  constructor(
    message: string,
    readonly kind: 'refused' | 'failed' | 'lost',
  ) {
    super(message);
  }
}

/** A bitstream and what it puts where. */
export interface BoardImage {
  path: string;
  bytes: number;
  kind: LoadKind;
  /** Modules by slot; a partial image has one slot only, a full one says of each slot what it holds (null: nothing). */
  modules: ReadonlyMap<number, string | null>;
}

export interface DeviceDescription {
  emulated: boolean;
  /** What must be known before its figures are believed. */
  note: string;
  profile: string;
  device: string;
  clock_hz: number;
  shell: string;
  slots: { slot: number; resources: Record<string, number> }[];
  images: BoardImage[];
}

/** Since the board was powered. */
export interface SlotCounters {
  frames_in: number;
  frames_out: number;
  bytes_in: number;
  bytes_out: number;
  dropped: number;
  bypassed: number;
  /** Frames that wait until the slot takes them. */
  held: number;
}

export interface SlotStatus {
  slot: number;
  state: SlotState;
  /** The NF, or stream, that is in it. */
  module: string | null;
  load: SlotLoad | null;
  counters: SlotCounters;
  error: string | null;
}

type Interruption = Pick<LoadResult, 'held' | 'lost' | 'bypassed'>;

export interface BoardStatus {
  /** In the words of the kernel's fpga_manager. */
  state: string;
  cycles: number;
  /** Wall time / board time while it works; null: idle, or real silicon. */
  slowdown: number | null;
  /** CPU time that an emulation took, and the wall time in which it did; null for real silicon. */
  cpu: { used_s: number; wall_s: number } | null;
  /** Frames that met the latest load, until its slots were resumed; null where nobody counts them later. */
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
  /** Events that came too fast to be told. */
  eventsLost(count: number): void;
  /** Called once: the board cannot be reached any more, until it is opened again. */
  lost(why: string): void;
}

/** Registers of one slot, or of the shell. */
export type RegisterSpace = number | 'shell';
export type RegisterWrite = readonly [address: number, value: number];

/** 32 bytes of a flow table. */
export const ENTRY_WORDS = 8;
export type TableEntry = readonly number[];

/** What every kind of board can do. A call rejects with a BoardError. */
export interface BoardPort {
  open(listener: BoardListener): Promise<DeviceDescription>;
  close(): void;
  status(): Promise<BoardStatus>;
  /** Holds, drains and decouples; loads; leaves the slot decoupled and its registers reachable. A load that the board refuses resolves with its `error`. */
  load(order: LoadOrder, onProgress: (load: SlotLoad) => void): Promise<LoadResult>;
  unload(slot: number): Promise<void>;
  /** After it no frame is in the slot and none enters. */
  quiesce(slot: number): Promise<void>;
  resume(slot: number): Promise<void>;
  readRegisters(space: RegisterSpace, addresses: readonly number[]): Promise<number[]>;
  writeRegisters(space: RegisterSpace, writes: readonly RegisterWrite[]): Promise<void>;
  exportTable(slot: number, most: number): Promise<TableEntry[]>;
  /** Puts by key. Resolves with how many found no room. */
  importTable(slot: number, entries: readonly TableEntry[]): Promise<number>;
  /** Frames into a stream module and what comes out of it, in order. */
  stream(slot: number, frames: readonly Buffer[], timeout_ms: number): Promise<Buffer[]>;
}
