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
/** Words of an entry that a board finds it by. */
const KEY_WORDS = 4;
const SHORTEST_SWEEP_MS = 5000;
/** Misses that wait for their turn; a board holds eight frames, so more are of flows that gave up. */
const MISSES_LIMIT = 256;

/** Of a flow without translation. */
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
 * The host's part of a board's NAT: it gives out translations as the engine's NAT does, answers the module's misses and
 * takes back what is idle (CoNFV: retrieval state behind a state proxy). A miss that gets no translation is answered by
 * deleting its key, so that the frames that wait for it make room for others.
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

  /** Takes over what an earlier session put into the table; what the configuration no longer has goes. */
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
    if (Date.now() < this.sweep_at_ms || this.mappings.size === 0) return;
    this.sweep_at_ms = Date.now() + Math.max(SHORTEST_SWEEP_MS, (this.config.idle_timeout_s * 1000) / 4);
    await this.sweep();
  }

  /** The next tick looks for idle flows, whenever it did last. */
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

  /** A flow whose port, mapping or address is not to be had here is counted and left out; the others are taken. */
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

  /** Answers what waits, all that came meanwhile at once. */
  private async answer(): Promise<void> {
    // After the caller, so that events of one reading are one request.
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
        // The board is away or the slot is being changed: its frames are gone with it, so are the mappings.
        for (const mapping of created) this.forget(mapping);
        return;
      }
      const now = process.hrtime.bigint();
      for (const { at: then } of misses) this.trips.add(Number(now - then) / 1000);
      // Frames of those that cannot be told wait for as long as the board lets them.
      await this.refuse(refused).catch(() => undefined);
    }
  }

  /** Mappings for inside ends that have none, and the ends for which there is no port, each once. */
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

  /** Resolves with those that found no room; they are forgotten. */
  private async put(all: { mapping: Mapping; idle_s: number }[]): Promise<Mapping[]> {
    if (all.length === 0) return [];
    if ((await this.slot.importTable(all.map(({ mapping, idle_s }) => entryOf(mapping, idle_s)))) === 0) return [];
    // Which ones is only told of one at a time; what is in the table is put again unchanged.
    const refused: Mapping[] = [];
    for (const { mapping, idle_s } of all) {
      if ((await this.slot.importTable([entryOf(mapping, idle_s)])) === 0) continue;
      this.forget(mapping);
      refused.push(mapping);
    }
    return refused;
  }

  /** Tells the module that these inside ends get no translation. */
  private async refuse(ends: readonly Inside[]): Promise<void> {
    for (const inside of ends) {
      if (this.closed) return;
      // An import may have brought one meanwhile.
      if (this.mappings.has(keyOf(inside))) continue;
      await this.remove(entryOf({ ...inside, external: NO_END }, 0));
      this.counts.misses_refused++;
    }
  }

  private async sweep(): Promise<void> {
    for (const entry of await this.slot.exportTable(TABLE_FLOWS)) {
      // The table was read some time ago, of which every removal takes more.
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

  /** The entry as it is now; null when it is gone, or when an answer to a miss came between. */
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
