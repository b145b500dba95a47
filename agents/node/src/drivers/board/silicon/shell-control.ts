import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadPolicy } from '@orrery/contract';
import { BoardError, type SlotCounters } from '../board-port.js';
import { at, field, word } from '../fields.js';
import { BOARD_MODULES } from '../registers.js';
import { WrappingCounters } from '../wrapping-counters.js';
import type { Registers } from './register-file.js';

const SHELL = BOARD_MODULES.nf_shell.registers;
const { SLOT_CONTROL, SLOT_STATUS } = SHELL;
const POLICIES: Record<LoadPolicy, number> = { hold: 0, drop: 1, bypass: 2 };
const COUNTERS = [
  SHELL.FRAMES_IN,
  SHELL.FRAMES_OUT,
  SHELL.BYTES_IN,
  SHELL.BYTES_OUT,
  SHELL.FRAMES_DROPPED,
  SHELL.FRAMES_BYPASSED,
  SHELL.NO_HOP,
];

/** The shell's controls of one slot. */
export class ShellControl {
  private readonly counters = new WrappingCounters();

  constructor(
    private readonly registers: Registers,
    private readonly base: number,
    private readonly slot: number,
  ) {}

  get csrCoupled(): boolean {
    return field(SLOT_CONTROL.fields.CSR_DECOUPLE, this.control) === 0;
  }

  /** Frames can enter and leave. */
  get coupled(): boolean {
    const { HOLD, DECOUPLE } = SLOT_CONTROL.fields;
    return field(HOLD, this.control) === 0 && field(DECOUPLE, this.control) === 0;
  }

  get csrTimedOut(): boolean {
    return field(SLOT_STATUS.fields.CSR_TIMEOUT, this.read(SLOT_STATUS)) === 1;
  }

  /** Stops frames from entering and waits until none is inside; false if the slot keeps one. */
  async hold(policy: LoadPolicy): Promise<boolean> {
    this.set({ HOLD: 1, POLICY: POLICIES[policy] });
    const limit_us = this.registers.read(this.base + SHELL.DRAIN_TIMEOUT_US.address);
    const deadline = performance.now() + 1000 + limit_us / 1000;
    for (;;) {
      const status = this.read(SLOT_STATUS);
      if (field(SLOT_STATUS.fields.DRAINED, status) === 1) return true;
      if (field(SLOT_STATUS.fields.TIMED_OUT, status) === 1) return false;
      if (performance.now() > deadline) throw new BoardError(`the shell does not hold slot ${this.slot}`, 'failed');
      await sleep(1);
    }
  }

  /** Ignores all outputs of the slot, as a load requires. */
  decouple(policy: LoadPolicy): void {
    this.set({ HOLD: 1, DECOUPLE: 1, CSR_DECOUPLE: 1, RESET: 1, POLICY: POLICIES[policy] });
  }

  /** Resets the loaded module and connects its registers; frames still cannot enter. */
  recoupleRegisters(policy: LoadPolicy): void {
    this.set({ HOLD: 1, DECOUPLE: 1, RESET: 1, POLICY: POLICIES[policy] });
    this.set({ HOLD: 1, DECOUPLE: 1, POLICY: POLICIES[policy] });
  }

  couple(): void {
    this.set({});
  }

  readCounters(): SlotCounters {
    const sums = this.counters.add(COUNTERS.map((register) => this.read(register)));
    const [frames_in, frames_out, bytes_in, bytes_out, dropped, bypassed, no_hop] = sums as [
      ...[number, number, number, number, number, number, number],
    ];
    return { frames_in, frames_out, bytes_in, bytes_out, dropped, bypassed, no_hop, held: 0 };
  }

  /** The whole board was loaded: the shell's counters restart from zero. */
  restartCounters(): void {
    this.counters.restart();
  }

  private get control(): number {
    return this.read(SLOT_CONTROL);
  }

  private set(switches: Parameters<typeof word<typeof SLOT_CONTROL.fields>>[1]): void {
    this.registers.write(this.base + at(SLOT_CONTROL, this.slot), word(SLOT_CONTROL, switches));
  }

  private read(register: { address: number; count: number; stride: number }): number {
    return this.registers.read(this.base + at(register, this.slot));
  }
}
