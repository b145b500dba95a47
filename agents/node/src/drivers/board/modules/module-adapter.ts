import type { Emit } from '../../../link/agent-event.js';
import type { RegisterWrite, TableEntry } from '../board-port.js';

/** The module cannot take this configuration; `pointer` is a JSON Pointer into it. */
export class ConfigRefusal extends Error {
  override name = 'ConfigRefusal';
  constructor(pointer: string, detail: string) {
    super(`${pointer}: ${detail}`);
  }
}

export type Config = Record<string, unknown>;

/** What an adapter may do with the slot of its module. */
export interface SlotAccess {
  readonly instance_id: string;
  readRegisters(addresses: readonly number[]): Promise<number[]>;
  writeRegisters(writes: readonly RegisterWrite[]): Promise<void>;
  exportTable(most: number): Promise<TableEntry[]>;
  /** Resolves with how many did not fit. */
  importTable(entries: readonly TableEntry[]): Promise<number>;
  /** Reports to the server, up to a rate; `suppressed` counts the alerts suppressed before this one. */
  alert(tell: (emit: Emit, suppressed: number) => void): void;
}

/** A configured module running in one slot. */
export interface ModuleSession {
  /** Handles an event of the module: eight words. */
  event(words: readonly number[]): void;
  /** Called every few seconds; housekeeping of tables that the host maintains. */
  tick?(): Promise<void>;
  /** Counters and at most `limit` rows per table. */
  state(limit: number): Promise<Record<string, unknown>>;
  /** In the JSON format of the software NF's export. Absent: the NF has no flow state and exports {}. */
  exportState?(): Promise<Record<string, unknown>>;
  importState?(state: Record<string, unknown>): Promise<void>;
  close?(): void;
}

/** What an NF's descriptor declares, and how to tell its module. One file per NF, one line in `index.ts`. */
export interface ModuleAdapter {
  readonly nf: string;
  /** The attribute that it derives: its values for frames of class 1, 2 and 3. */
  readonly attribute: { name: string; values: readonly string[] } | null;
  /** Register values for a configuration. Throws a ConfigRefusal. */
  configure(config: Config): RegisterWrite[];
  /** Called after configuration, before frames enter; `fresh`: tables are empty. */
  begin(slot: SlotAccess, config: Config, fresh: boolean): Promise<ModuleSession>;
}
