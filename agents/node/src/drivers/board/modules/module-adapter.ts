import type { Alert } from '../alerts.js';
import type { RegisterWrite, TableEntry } from '../board-port.js';

/** A configuration that the module cannot take; `pointer` is a JSON Pointer into it. */
export class ConfigRefusal extends Error {
  override name = 'ConfigRefusal';
  constructor(pointer: string, detail: string) {
    super(`${pointer}: ${detail}`);
  }
}

export type Config = Record<string, unknown>;

/** What an adapter may do with the slot that its module runs in. */
export interface SlotAccess {
  readonly instance_id: string;
  readRegisters(addresses: readonly number[]): Promise<number[]>;
  writeRegisters(writes: readonly RegisterWrite[]): Promise<void>;
  exportTable(most: number): Promise<TableEntry[]>;
  /** Resolves with how many found no room. */
  importTable(entries: readonly TableEntry[]): Promise<number>;
  /** Raised to the server, up to a rate. */
  raise(...alert: Alert): void;
}

/** A module at work: configured, in one slot. */
export interface ModuleSession {
  /** An event of the module, as eight words. */
  event(words: readonly number[]): void;
  /** Every few seconds; housekeeping of tables that the host keeps. */
  tick?(): Promise<void>;
  /** Counters and, of each table, at most `limit` rows. */
  state(limit: number): Promise<Record<string, unknown>>;
  /** In the JSON of the software NF's export. Absent: the NF has no state of flows, its export is {}. */
  exportState?(): Promise<Record<string, unknown>>;
  importState?(state: Record<string, unknown>): Promise<void>;
  close?(): void;
}

/** What an NF's descriptor says of it and how that is said to its module. One file an NF, one line in `index.ts`. */
export interface ModuleAdapter {
  readonly nf: string;
  /** The attribute that it derives: values of the classes 1, 2 and 3 of a frame. */
  readonly attribute: { name: string; values: readonly string[] } | null;
  /** Registers by configuration. Throws a ConfigRefusal. */
  configure(config: Config): RegisterWrite[];
  /** After configuration, before frames go in; `fresh`: tables are empty. */
  begin(slot: SlotAccess, config: Config, fresh: boolean): Promise<ModuleSession>;
}
