import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadResult } from '@orrery/contract';
import type { z } from 'zod';
import { HEARTBEAT, Heartbeat, type HeartbeatTiming } from '../../../platform/heartbeat.js';
import { HeartbeatSocket } from '../../heartbeat-socket.js';
import type { SimulatedConfig } from '../board-config.js';
import {
  BoardError,
  type BoardImage,
  type BoardListener,
  type BoardPort,
  type BoardStatus,
  type DeviceDescription,
  type LoadOrder,
  type RegisterSpace,
  type RegisterWrite,
  type SlotLoad,
  type TableEntry,
} from '../board-port.js';
import { filesOf } from '../images.js';
import { moduleName } from '../module-names.js';
import { BoarddClient, BoarddRefusal } from './boardd-client.js';
import { readContainer } from './container.js';
import { LineSocket } from './line-socket.js';
import { Begun, Described, Done, Entries, EventLine, Frames, Imported, Status, Words } from './protocol.js';

/** Interval at which the progress of a load is polled. */
const PROGRESS_MS = 200;
/** Codes of loads refused before they begin because of the image. */
const IMAGE_REFUSALS = new Set(['image-refused', 'unreadable']);
const NOTHING_LOADED = { modelled_s: 0, measured_s: 0, bytes: 0, held: 0, lost: 0, bypassed: 0 };
/** Tables and streams take board time, which a busy board has little of. */
const LONG_LIMIT_MS = 30_000;
/** Entries per table, and per request. */
const TABLE_ENTRIES = 4096;

/** A board emulated by boardd. */
export class SimulatedBoard implements BoardPort {
  private client: BoarddClient | null = null;
  private events: LineSocket | null = null;
  private heartbeat: Heartbeat | null = null;
  private beats: HeartbeatSocket | null = null;

  constructor(
    private readonly config: SimulatedConfig,
    private readonly timing: HeartbeatTiming = HEARTBEAT,
  ) {}

  async open(listener: BoardListener): Promise<DeviceDescription> {
    this.close();
    const lost = (why: string) => {
      if (!this.client) return;
      this.close();
      listener.lost(why);
    };
    const client = new BoarddClient(lost);
    const beats = new HeartbeatSocket(this.config.control);
    this.beats = beats;
    try {
      await client.open(this.config.control);
      // A stopped process still accepts connections.
      await withinMs(beats.beat(), this.timing.silent_ms);
      const described = await client.call('describe', {}, Described);
      this.events = await LineSocket.connect(this.config.events, (line) => tell(line, listener), lost);
      this.client = client;
      const silent = () => lost(SILENT);
      this.heartbeat = new Heartbeat(beats.beat, { silent, back: () => undefined }, this.timing);
      return {
        emulated: true,
        note: '',
        profile: described.profile,
        device: described.device,
        clock_hz: described.clock_hz,
        shell: described.shell_uuid,
        slots: described.slots.map(({ slot, resources }) => ({ slot, resources })),
        images: containers(this.config.images, described),
      };
    } catch (error) {
      client.close();
      this.close();
      throw error;
    }
  }

  close(): void {
    this.heartbeat?.stop();
    this.heartbeat = null;
    this.beats?.close();
    this.beats = null;
    this.client?.close();
    this.client = null;
    this.events?.close();
    this.events = null;
  }

  async status(): Promise<BoardStatus> {
    const { board, slots, ports, last_load } = await this.call('status', {}, Status);
    const dropped = (slot: number) =>
      ports.filter((port) => port.slot === slot).flatMap(({ drops }) => Object.values(drops));
    return {
      state: board.state,
      cycles: board.cycles,
      slowdown: board.slowdown,
      cpu: { used_s: board.cpu_s, wall_s: board.wall_ns / 1e9 },
      interrupted: last_load && { held: last_load.held, lost: last_load.lost, bypassed: last_load.bypassed },
      slots: slots.map((slot) => ({
        ...slot,
        load: slot.load && atLeastOne(slot.load),
        counters: { ...slot.counters, dropped: sum([slot.counters.dropped, ...dropped(slot.slot)]) },
      })),
    };
  }

  async load({ slot, kind, policy, image }: LoadOrder, onProgress: (load: SlotLoad) => void): Promise<LoadResult> {
    const module = slot === null ? null : (image.modules.get(slot) ?? null);
    const about = { slot, module, kind, policy };
    let id: number;
    try {
      ({ id } = await this.call('load', { slot, kind, image: image.path, policy }, Begun));
    } catch (error) {
      if (!(error instanceof BoarddRefusal) || !IMAGE_REFUSALS.has(error.code)) throw error;
      return { ...about, ...NOTHING_LOADED, error: error.message };
    }
    for (;;) {
      const { slots, last_load } = await this.call('status', {}, Status);
      if (last_load?.id !== id) throw new BoardError('the board no longer knows this load', 'failed');
      const { id: _, state, ...result } = last_load;
      if (state === 'operating' || result.error !== null) return { ...about, ...result };
      const loading = slots.find((one) => one.load && (slot === null || one.slot === slot))?.load;
      if (loading) onProgress(atLeastOne(loading));
      await sleep(PROGRESS_MS);
    }
  }

  async unload(slot: number): Promise<void> {
    await this.call('unload', { slot }, Done);
  }

  async quiesce(slot: number): Promise<void> {
    await this.call('quiesce', { slot }, Done);
  }

  async resume(slot: number): Promise<void> {
    await this.call('resume', { slot }, Done);
  }

  async readRegisters(space: RegisterSpace, addresses: readonly number[]): Promise<number[]> {
    return (await this.call('csr_read', { slot: slotOf(space), addresses }, Words)).values;
  }

  async writeRegisters(space: RegisterSpace, writes: readonly RegisterWrite[]): Promise<void> {
    if (writes.length > 0) await this.call('csr_write', { slot: slotOf(space), writes }, Done);
  }

  async exportTable(slot: number, most: number): Promise<TableEntry[]> {
    const max = Math.min(most, TABLE_ENTRIES);
    return (await this.call('table_export', { slot, max }, Entries, LONG_LIMIT_MS)).entries;
  }

  async importTable(slot: number, entries: readonly TableEntry[]): Promise<number> {
    let refused = 0;
    for (let from = 0; from < entries.length; from += TABLE_ENTRIES) {
      const some = entries.slice(from, from + TABLE_ENTRIES);
      refused += (await this.call('table_import', { slot, entries: some }, Imported, LONG_LIMIT_MS)).refused;
    }
    return refused;
  }

  async stream(slot: number, frames: readonly Buffer[], timeout_ms: number): Promise<Buffer[]> {
    const params = { slot, frames: frames.map((frame) => frame.toString('hex')), timeout_ms };
    const { frames: out } = await this.call('stream', params, Frames, timeout_ms + LONG_LIMIT_MS);
    return out.map((hex) => Buffer.from(hex, 'hex'));
  }

  private call<S extends z.ZodType>(
    method: string,
    params: unknown,
    result: S,
    limit_ms?: number,
  ): Promise<z.infer<S>> {
    if (!this.client) return Promise.reject(new BoardError('the board is not connected', 'lost'));
    return this.client.call(method, params, result, limit_ms);
  }
}

const SILENT = 'it does not answer';

async function withinMs(sign: Promise<void>, limit_ms: number): Promise<void> {
  const waited = new AbortController();
  const late = sleep(limit_ms, undefined, { signal: waited.signal }).then(() => {
    throw new BoardError(SILENT, 'lost');
  });
  try {
    await Promise.race([sign, late]);
  } finally {
    waited.abort();
    late.catch(() => undefined);
  }
}

const sum = (all: readonly number[]) => all.reduce((one, other) => one + other, 0);
const slotOf = (space: RegisterSpace) => (space === 'shell' ? null : space);
const atLeastOne = (load: SlotLoad): SlotLoad => ({ ...load, bytes_total: Math.max(1, load.bytes_total) });

function tell(line: string, listener: BoardListener): void {
  let parsed: z.infer<typeof EventLine>;
  try {
    parsed = EventLine.parse(JSON.parse(line));
  } catch {
    return;
  }
  if (parsed.type === 'module') listener.event(parsed);
  else if (parsed.type === 'lost') listener.eventsLost(parsed.lost);
}

/** Containers in the directory that were made for this board and hold modules that it supports. */
function containers(directory: string, board: z.infer<typeof Described>): BoardImage[] {
  const names = new Map(board.library.map(({ uuid, name }) => [uuid, name]));
  return filesOf(directory).flatMap((path) => {
    const found = readContainer(path);
    if (!found || found.profile !== board.profile || found.shell !== board.shell_uuid) return [];
    const region = board.slots.find((slot) => slot.region === found.region)?.slot;
    if (found.kind === 'partial' && region === undefined) return [];
    const modules = found.modules.map((uuid, i): [number, string | null] => [
      found.kind === 'partial' ? region! : i,
      uuid && moduleName(names.get(uuid) ?? 'unknown'),
    ]);
    return [{ path, bytes: found.payload_bytes, kind: found.kind, modules: new Map(modules) }];
  });
}
