import type { RegisterReader } from './drop-counters.js';
import { COMMON_REGISTERS } from './registers.js';
import { WrappingCounters } from './wrapping-counters.js';

/** Least time between two reports. */
const PERIOD_MS = 2000;

/** Events of a slot's module that were lost on their way here, in the module itself or behind it. */
export class EventLosses {
  private readonly registers = new WrappingCounters();
  private inModule = 0;
  private elsewhere = 0;
  private told = 0;
  private toldAt_ms = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly slot: number,
    private readonly host: RegisterReader,
    private readonly tell: (count: number) => void,
    private readonly now_ms: () => number = () => performance.now(),
  ) {}

  /** Since the slot got its instance. */
  get total(): number {
    return this.inModule + this.elsewhere;
  }

  /** The module was reloaded. */
  restart(): void {
    this.registers.restart();
  }

  add(count: number): void {
    this.elsewhere += count;
    this.report();
  }

  async read(): Promise<void> {
    const words = await this.host.port.readRegisters(this.slot, [COMMON_REGISTERS.EVENT_LOST.address]);
    [this.inModule = 0] = this.registers.add(words);
    this.report();
  }

  private report(): void {
    const now = this.now_ms();
    if (this.total === this.told || now - this.toldAt_ms < PERIOD_MS) return;
    const count = this.total - this.told;
    this.told = this.total;
    this.toldAt_ms = now;
    this.tell(count);
  }
}
