import type { LoadResult, SlotState } from '@orrery/contract';
import type { FpgaManagerConfig, PcieConfig } from '../board-config.js';
import {
  BoardError,
  type BoardListener,
  type BoardPort,
  type BoardStatus,
  type DeviceDescription,
  type LoadOrder,
  type RegisterSpace,
  type RegisterWrite,
  type SlotLoad,
  type SlotStatus,
  type TableEntry,
} from '../board-port.js';
import { allOf } from '../fields.js';
import { listedImages } from '../images.js';
import { idText, moduleWithId } from '../module-names.js';
import { BOARD_MODULES, COMMON_REGISTERS } from '../registers.js';
import { EventReader } from './event-reader.js';
import { RegisterFile, type Registers } from './register-file.js';
import { ShellControl } from './shell-control.js';
import { TableAccess } from './table-access.js';

const SHELL = BOARD_MODULES.nf_shell;
const NOTE = 'not run on hardware: this back end has only been tested without a board';

/** What all hardware boards have in common: registers in a file. Subclasses define how bitstreams are loaded. */
export abstract class SiliconBoard implements BoardPort {
  private registers: Registers | null = null;
  private events: EventReader | null = null;
  private controls: ShellControl[] = [];
  private readonly loading = new Map<number, SlotLoad>();
  private readonly errors = new Map<number, string>();

  constructor(
    protected readonly config: FpgaManagerConfig | PcieConfig,
    private readonly openRegisters: (path: string) => Registers = (path) => new RegisterFile(path),
  ) {}

  /** The board's state in the vocabulary of fpga_manager. */
  protected abstract deviceState(): string;
  /** Loads a bitstream into the device. Null, or the error of whatever refused it. */
  protected abstract transfer(order: LoadOrder): Promise<string | null>;

  async open(listener: BoardListener): Promise<DeviceDescription> {
    this.close();
    const { config } = this;
    const registers = this.openRegisters(config.csr);
    const id = registers.read(config.shell_csr + SHELL.registers.ID.address);
    if (id !== SHELL.id) {
      registers.close();
      throw new BoardError(`${config.csr} answers as ${idText(id)}: no shell is loaded`, 'failed');
    }
    this.registers = registers;
    this.controls = config.slots.map((_, slot) => new ShellControl(registers, config.shell_csr, slot));
    this.events = new EventReader(
      registers,
      config.slots.flatMap(({ csr }, slot) => [{ slot, base: csr, readable: () => this.readable(slot) }]),
      listener,
      (why) => {
        this.close();
        listener.lost(why);
      },
    );
    const uuid = allOf(SHELL.registers.SHELL_UUID).map((address) => registers.read(config.shell_csr + address));
    return {
      emulated: false,
      note: NOTE,
      profile: config.profile,
      device: config.device,
      clock_hz: config.clock_mhz * 1e6,
      shell: uuid.map((value) => value.toString(16).padStart(8, '0')).join(''),
      slots: config.slots.map(({ resources }, slot) => ({ slot, resources })),
      images: listedImages(config.images),
    };
  }

  close(): void {
    this.events?.stop();
    this.events = null;
    this.registers?.close();
    this.registers = null;
  }

  async status(): Promise<BoardStatus> {
    const { file } = this;
    return {
      state: this.deviceState(),
      cycles: 0,
      slowdown: null,
      cpu: null,
      interrupted: null,
      slots: this.controls.map((control, slot) => this.slotStatus(file, control, slot)),
    };
  }

  async load(order: LoadOrder, onProgress: (load: SlotLoad) => void): Promise<LoadResult> {
    const { slot, kind, policy, image } = order;
    const slots = slot === null ? this.controls.map((_, i) => i) : [slot];
    const progress = { kind, policy, bytes: 0, bytes_total: Math.max(1, image.bytes) };
    onProgress(progress);
    for (const one of slots) this.loading.set(one, progress);
    const begin = process.hrtime.bigint();
    const before = slots.map((one) => this.control(one).readCounters());
    try {
      for (const one of slots) {
        // A module that keeps a frame is stopped all the same: it will be replaced.
        if (this.control(one).csrCoupled) await this.control(one).hold(policy);
        this.control(one).decouple(policy);
      }
      const error = await this.transfer(order);
      for (const one of slots) this.afterTransfer(one, order, error);
      const after = slots.map((one) => this.control(one).readCounters());
      const more = (name: 'dropped' | 'bypassed') =>
        after.reduce((sum, counters, i) => sum + Math.max(0, counters[name] - before[i]![name]), 0);
      return {
        slot,
        module: error === null && slot !== null ? (image.modules.get(slot) ?? null) : null,
        kind,
        policy,
        error,
        modelled_s: 0,
        measured_s: Number(process.hrtime.bigint() - begin) / 1e9,
        bytes: error === null ? image.bytes : 0,
        held: 0,
        lost: more('dropped'),
        bypassed: more('bypassed'),
      };
    } finally {
      for (const one of slots) this.loading.delete(one);
    }
  }

  /** Silicon cannot be emptied: all outputs of the slot are ignored until the next load. */
  async unload(slot: number): Promise<void> {
    this.control(slot).decouple('hold');
    this.errors.delete(slot);
  }

  async quiesce(slot: number): Promise<void> {
    if (await this.control(slot).hold('hold')) return;
    this.control(slot).couple();
    throw new BoardError(`slot ${slot} does not drain`, 'failed');
  }

  async resume(slot: number): Promise<void> {
    this.control(slot).couple();
  }

  async readRegisters(space: RegisterSpace, addresses: readonly number[]): Promise<number[]> {
    const base = this.baseOf(space);
    return addresses.map((address) => this.file.read(base + address));
  }

  async writeRegisters(space: RegisterSpace, writes: readonly RegisterWrite[]): Promise<void> {
    const base = this.baseOf(space);
    for (const [address, value] of writes) this.file.write(base + address, value);
  }

  async exportTable(slot: number, most: number): Promise<TableEntry[]> {
    return new TableAccess(this.file, this.baseOf(slot)).export(most);
  }

  async importTable(slot: number, entries: readonly TableEntry[]): Promise<number> {
    return new TableAccess(this.file, this.baseOf(slot)).import(entries);
  }

  async stream(): Promise<Buffer[]> {
    throw new BoardError('this back end has no streams', 'refused');
  }

  private afterTransfer(slot: number, { policy, image }: LoadOrder, error: string | null): void {
    if (error !== null) this.errors.set(slot, error);
    else {
      this.errors.delete(slot);
      if (image.kind === 'full') this.control(slot).restartCounters();
      if (image.modules.get(slot)) this.control(slot).recoupleRegisters(policy);
    }
  }

  private slotStatus(file: Registers, control: ShellControl, slot: number): SlotStatus {
    const load = this.loading.get(slot) ?? null;
    const coupled = control.csrCoupled;
    const module = coupled ? moduleWithId(file.read(this.baseOf(slot) + COMMON_REGISTERS.ID.address)) : null;
    const error = this.errors.get(slot) ?? (control.csrTimedOut ? 'its registers do not answer' : null);
    const settled: SlotState = !coupled ? 'empty' : control.coupled ? 'active' : 'configuring';
    const state = load ? 'loading' : error ? 'faulty' : settled;
    return { slot, state, module, load, counters: control.readCounters(), error };
  }

  private readable(slot: number): boolean {
    return !this.loading.has(slot) && this.control(slot).csrCoupled;
  }

  private control(slot: number): ShellControl {
    const control = this.registers && this.controls[slot];
    if (!control) throw new BoardError(`the board has no slot ${slot}, or is not open`, 'lost');
    return control;
  }

  private baseOf(space: RegisterSpace): number {
    if (space === 'shell') return this.config.shell_csr;
    const slot = this.config.slots[space];
    if (!slot) throw new BoardError(`the board has no slot ${space}`, 'refused');
    return slot.csr;
  }

  private get file(): Registers {
    if (!this.registers) throw new BoardError('the board is not open', 'lost');
    return this.registers;
  }
}
