import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { RegisterWrite, TableEntry } from '../board-port.js';
import { allOf, at, field, word } from '../fields.js';
import { BOARD_MODULES, COMMON_REGISTERS } from '../registers.js';
import { addressNumber, addressText } from './addresses.js';
import { AgeMs, idleSeconds, readRows, TABLE_FLOWS, Word16, Word32, youngestFirst } from './flows.js';
import type { ModuleSession, SlotAccess } from './module-adapter.js';
import type { NatConfig } from './nat-config.js';
import { type ExternalEnd, PortPools, SPACES } from './port-pools.js';
import { RoundTrips } from './round-trips.js';

const { registers, events } = BOARD_MODULES.nf_nat;
const { TABLE_COMMAND, TABLE_STATUS, TABLE_DATA } = COMMON_REGISTERS;
const OPERATION = { delete: 3, find: 4 };
/** Key words of an entry. */
const KEY_WORDS = 4;
const SHORTEST_SWEEP_MS = 5000;
/** Longest queue of misses; a board holds eight frames, so any more belong to flows that gave up. */
const MISSES_LIMIT = 256;

/** Value for a flow without a mapping. */
const NO_END: ExternalEnd = { address: 0, port: 0 };

/** [port space, inside address, inside port, external address, external port, idle ms] */
const Row = z.tuple([z.int().min(0).max(2), Word32, Word16, Word32, Word16, AgeMs]);

interface Inside {
  space: number;
  address: number;
  port: number;
}

interface Mapping extends Inside {
  external: ExternalEnd;
}

/**
 * The host's part of a board's NAT: it allocates mappings as the engine's NAT does, answers the module's misses and
 * reclaims idle mappings (CoNFV: retrieval state behind a state proxy). A miss that gets no mapping is answered by
 * deleting its key, so that the frames waiting for it make room for others.
 */
export class NatSession implements ModuleSession {
  private readonly pools: PortPools;
  private readonly mappings = new Map<string, Mapping>();
  private readonly most: number;
  private misses: { inside: Inside; at: bigint }[] = [];
  private answering: Promise<void> | null = null;
  private readonly trips = new RoundTrips();
  private readonly counts = {
    misses: 0,
    misses_refused: 0,
    misses_lost: 0,
    created: 0,
    expired: 0,
    no_port: 0,
    imports_refused: 0,
  };
  private sweep_at_ms = 0;
  private closed = false;

  constructor(
    private readonly slot: SlotAccess,
    private readonly config: NatConfig,
  ) {
    this.pools = new PortPools(config.external_addresses.map(addressNumber), config.port_lo, config.port_hi);
    this.most = Math.min(config.max_flows, TABLE_FLOWS);
  }

  /**
   * Takes over what an earlier session put into the table; entries that the configuration no longer allows are removed.
   */
  async adopt(): Promise<void> {
    for (const entry of await this.slot.exportTable(TABLE_FLOWS)) {
      const mapping = mappingOf(entry);
      if (mapping && this.pools.takeExactly(mapping.space, mapping.external))
        this.mappings.set(keyOf(mapping), mapping);
      else await this.remove(entry);
    }
  }

  event([type, address, , ports, protocol]: readonly number[]): void {
    const space = SPACES.findIndex((one) => one.protocol === protocol);
    if (type !== events.miss.type || space < 0) return;
    this.counts.misses++;
    if (this.misses.length >= MISSES_LIMIT) {
      this.counts.misses_lost++;
      return;
    }
    const inside = { space, address: address!, port: ports! >>> 16 };
    this.misses.push({ inside, at: process.hrtime.bigint() });
    this.answering ??= this.answer().finally(() => {
      this.answering = null;
    });
  }

  async tick(): Promise<void> {
    if (performance.now() < this.sweep_at_ms || this.mappings.size === 0) return;
    this.sweep_at_ms = performance.now() + Math.max(SHORTEST_SWEEP_MS, (this.config.idle_timeout_s * 1000) / 4);
    await this.sweep();
  }

  /** Makes the next tick look for idle flows, however recent the last scan was. */
  sweepNow(): void {
    this.sweep_at_ms = 0;
  }

  async state(limit: number): Promise<Record<string, unknown>> {
    const { TRANSLATED_FORWARD, TRANSLATED_RETURN, MISSES_WAITING } = registers;
    const read = [TRANSLATED_FORWARD, TRANSLATED_RETURN, MISSES_WAITING].map(({ address }) => address);
    const [translated_forward, translated_return, misses_waiting] = await this.slot.readRegisters(read);
    const mappings = [...this.mappings.values()].slice(0, limit).map(({ space, address, port, external }) => ({
      proto: SPACES[space]!.name,
      internal: addressText(address),
      internal_port: port,
      external: addressText(external.address),
      external_port: external.port,
    }));
    const addresses = this.pools
      .counts()
      .map(({ address, free }) => ({ address: addressText(address), free_ports: free }));
    const { misses, misses_refused, misses_lost, created, expired, no_port, imports_refused } = this.counts;
    return {
      flows: this.mappings.size,
      max_flows: this.most,
      flows_created: created,
      flows_expired: expired,
      imports_refused,
      translated_forward,
      translated_return,
      proxy: { misses, misses_waiting, misses_refused, misses_lost, no_port, round_trip: this.trips.summary() },
      addresses,
      mappings,
    };
  }

  async exportState(): Promise<{ flows: z.infer<typeof Row>[] }> {
    const entries = await this.slot.exportTable(TABLE_FLOWS);
    const flows = entries.flatMap((entry): z.infer<typeof Row>[] => {
      const found = mappingOf(entry);
      if (!found) return [];
      const { space, address, port, external } = found;
      return [[space, address, port, external.address, external.port, entry[7]! * 1000]];
    });
    return { flows: youngestFirst(flows) };
  }

  /** A flow whose port, mapping or address is not available here is counted and skipped; the others are imported. */
  async importState(state: Record<string, unknown>): Promise<void> {
    const taken: { mapping: Mapping; idle_s: number }[] = [];
    for (const [space, address, port, external, external_port, idle_ms] of youngestFirst(readRows(Row, state))) {
      const mapping = { space, address, port, external: { address: external, port: external_port } };
      const known = this.mappings.get(keyOf(mapping));
      if (known && known.external.address === external && known.external.port === external_port) continue;
      if (known || this.mappings.size >= this.most || !this.pools.takeExactly(space, mapping.external)) {
        this.counts.imports_refused++;
        continue;
      }
      this.mappings.set(keyOf(mapping), mapping);
      taken.push({ mapping, idle_s: idleSeconds(idle_ms) });
    }
    this.counts.imports_refused += (await this.put(taken)).length;
  }

  close(): void {
    this.closed = true;
    this.misses = [];
  }

  /** Answers all waiting misses in one batch. */
  private async answer(): Promise<void> {
    // Deferred, so that the events of one reading become one request.
    await Promise.resolve();
    while (this.misses.length > 0 && !this.closed) {
      const misses = this.misses;
      this.misses = [];
      const { created, refused } = this.create(misses.map(({ inside }) => inside));
      try {
        const noRoom = await this.put(created.map((mapping) => ({ mapping, idle_s: 0 })));
        this.counts.no_port += noRoom.length;
        refused.push(...noRoom);
      } catch {
        // The board is unreachable or the slot is being changed: its frames are gone, and so are the mappings.
        for (const mapping of created) this.forget(mapping);
        return;
      }
      const now = process.hrtime.bigint();
      for (const { at: then } of misses) this.trips.add(Number(now - then) / 1000);
      // Frames of keys that could not be deleted wait until the board times them out.
      await this.refuse(refused).catch(() => undefined);
    }
  }

  /** New mappings for inside ends that have none, and the ends for which there is no port, each once. */
  private create(ends: readonly Inside[]): { created: Mapping[]; refused: Inside[] } {
    const created: Mapping[] = [];
    const refused = new Map<string, Inside>();
    for (const inside of ends) {
      if (this.mappings.has(keyOf(inside))) continue;
      const external = this.mappings.size < this.most ? this.pools.take(inside.space, inside.address) : null;
      if (!external) {
        this.counts.no_port++;
        refused.set(keyOf(inside), inside);
        continue;
      }
      const mapping = { ...inside, external };
      this.mappings.set(keyOf(mapping), mapping);
      this.counts.created++;
      created.push(mapping);
    }
    if (refused.size > 0) this.sweepNow();
    return { created, refused: [...refused.values()] };
  }

  /** Resolves with those that did not fit; they are forgotten. */
  private async put(all: { mapping: Mapping; idle_s: number }[]): Promise<Mapping[]> {
    if (all.length === 0) return [];
    if ((await this.slot.importTable(all.map(({ mapping, idle_s }) => entryOf(mapping, idle_s)))) === 0) return [];
    // The board only says which ones if they are inserted one at a time; entries already in the table are written
    // unchanged.
    const refused: Mapping[] = [];
    for (const { mapping, idle_s } of all) {
      if ((await this.slot.importTable([entryOf(mapping, idle_s)])) === 0) continue;
      this.forget(mapping);
      refused.push(mapping);
    }
    return refused;
  }

  /** Tells the module that these inside ends get no mapping. */
  private async refuse(ends: readonly Inside[]): Promise<void> {
    for (const inside of ends) {
      if (this.closed) return;
      // An import may have added one in the meantime.
      if (this.mappings.has(keyOf(inside))) continue;
      await this.remove(entryOf({ ...inside, external: NO_END }, 0));
      this.counts.misses_refused++;
    }
  }

  private async sweep(): Promise<void> {
    for (const entry of await this.slot.exportTable(TABLE_FLOWS)) {
      // The table was read some time ago, and each removal adds to that.
      if (!this.isIdle(entry) || this.closed || !this.isIdle(await this.find(entry))) continue;
      await this.remove(entry);
      const mapping = mappingOf(entry);
      if (mapping && this.forget(mapping)) this.counts.expired++;
    }
  }

  private forget(mapping: Mapping): boolean {
    if (!this.mappings.delete(keyOf(mapping))) return false;
    this.pools.giveBack(mapping.space, mapping.external);
    return true;
  }

  private isIdle(entry: TableEntry | null): boolean {
    return entry !== null && entry[7]! >= this.config.idle_timeout_s;
  }

  private async remove(entry: TableEntry): Promise<void> {
    await this.command(OPERATION.delete, entry);
  }

  /** The current entry; null if it is gone, or if an answer to a miss came in between. */
  private async find(entry: TableEntry): Promise<TableEntry | null> {
    const { valid, data } = await this.command(OPERATION.find, entry);
    return valid && entry.every((value, i) => i >= KEY_WORDS || value === data[i]) ? data : null;
  }

  private async command(operation: number, entry: TableEntry): Promise<{ valid: boolean; data: TableEntry }> {
    const key = entry.map((value, i): RegisterWrite => [at(TABLE_DATA, i), value]);
    await this.slot.writeRegisters([...key, [TABLE_COMMAND.address, word(TABLE_COMMAND, { OPERATION: operation })]]);
    for (;;) {
      const [status, ...data] = await this.slot.readRegisters([TABLE_STATUS.address, ...allOf(TABLE_DATA)]);
      const { BUSY, VALID } = TABLE_STATUS.fields;
      if (field(BUSY, status!) === 0) return { valid: field(VALID, status!) === 1, data };
      await sleep(1);
    }
  }
}

const keyOf = ({ space, address, port }: Inside) => `${space}/${address}/${port}`;

function entryOf({ space, address, port, external }: Mapping, idle_s: number): TableEntry {
  const { protocol } = SPACES[space]!;
  return [address, external.address, port * 0x10000 + external.port, protocol, 0, 0, 0, idle_s];
}

/** Null for a protocol that is not translated. */
function mappingOf([address, outside, ports, protocol]: TableEntry): Mapping | null {
  const space = SPACES.findIndex((one) => one.protocol === protocol);
  if (space < 0) return null;
  return { space, address: address!, port: ports! >>> 16, external: { address: outside!, port: ports! & 0xffff } };
}
