import { ENTRY_WORDS, EVENT_WORDS } from '../../drivers/board/board-port.js';
import { allOf, at, field } from '../../drivers/board/fields.js';
import { identityOf, versionText } from '../../drivers/board/module-names.js';
import { COMMON_REGISTERS } from '../../drivers/board/registers.js';

const { ID, VERSION, CONTROL, TABLE_COMMAND, TABLE_STATUS, TABLE_DATA, EVENT_COUNT, EVENT_DATA, DROPS } =
  COMMON_REGISTERS;
const KEY_WORDS = 4;

/** Registers of a slot module as seen from outside: memory, a table and a FIFO of events; no packets. */
export class ModelSlot {
  readonly memory = new Map<number, number>();
  readonly entries: number[][] = [];
  readonly events: number[] = [];
  /** Size of the table. */
  capacity = 4096;
  private status = 0;

  constructor(readonly module: string) {
    const { id, version } = identityOf(module)!;
    const [major, minor, patch] = version.split('.').map(Number);
    this.memory.set(ID.address, id);
    this.memory.set(VERSION.address, major! * 0x10000 + minor! * 0x100 + patch!);
    if (versionText(this.memory.get(VERSION.address)!) !== version) throw new Error('version');
  }

  raise(...words: number[]): void {
    this.events.push(...Array.from({ length: EVENT_WORDS }, (_, i) => words[i] ?? 0));
  }

  read(address: number): number {
    if (address === EVENT_COUNT.address) return this.events.length / EVENT_WORDS;
    if (address === EVENT_DATA.address) return this.events.shift() ?? 0;
    if (address === TABLE_STATUS.address) return this.status + this.entries.length * 0x10000;
    return this.memory.get(address) ?? 0;
  }

  write(address: number, value: number): void {
    this.memory.set(address, value);
    if (address === CONTROL.address && field(CONTROL.fields.CLEAR, value)) this.clear();
    if (address === TABLE_COMMAND.address) this.status = this.command(value);
  }

  /** False if it is full. */
  put(entry: number[]): boolean {
    const same = this.entries.findIndex((one) => one.slice(0, KEY_WORDS).join() === entry.slice(0, KEY_WORDS).join());
    if (same < 0 && this.entries.length >= this.capacity) return false;
    this.entries.splice(same < 0 ? this.entries.length : same, 1, entry);
    return true;
  }

  private clear(): void {
    this.entries.length = 0;
    this.events.length = 0;
    for (const address of allOf(DROPS)) this.memory.delete(address);
  }

  /** Index of the entry with the key in the data registers; -1: none. */
  private find(): number {
    const words = allOf(TABLE_DATA).map((address) => this.memory.get(address) ?? 0);
    return this.entries.findIndex((one) => one.slice(0, KEY_WORDS).join() === words.slice(0, KEY_WORDS).join());
  }

  private remove(): boolean {
    const at = this.find();
    if (at >= 0) this.entries.splice(at, 1);
    return at >= 0;
  }

  private command(value: number): number {
    if (field(TABLE_COMMAND.fields.OPERATION, value) === 2)
      return this.put(allOf(TABLE_DATA).map((address) => this.memory.get(address) ?? 0)) ? 2 : 4;
    if (field(TABLE_COMMAND.fields.OPERATION, value) === 3) return this.remove() ? 2 : 0;
    const wanted = field(TABLE_COMMAND.fields.OPERATION, value) === 4;
    const entry = this.entries[wanted ? this.find() : field(TABLE_COMMAND.fields.INDEX, value)];
    for (let i = 0; entry && i < ENTRY_WORDS; i++) this.memory.set(at(TABLE_DATA, i), entry[i]!);
    return entry ? 2 : 0;
  }
}
