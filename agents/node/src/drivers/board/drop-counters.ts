import type { BoardPort } from './board-port.js';
import { allOf, at } from './fields.js';
import { identityOf } from './module-names.js';
import { BOARD_MODULES, COMMON_REGISTERS } from './registers.js';
import { WrappingCounters } from './wrapping-counters.js';

const { DROPS, OVERSIZE } = COMMON_REGISTERS;
const { NO_HOP } = BOARD_MODULES.nf_shell.registers;

export interface RegisterReader {
  readonly port: Pick<BoardPort, 'readRegisters'>;
}

/** Drops of an instance by its module's reasons, accumulated over reloads. */
export class DropCounters {
  private readonly counters = new WrappingCounters();
  private noHop = 0;
  private noHopBefore: number | null = null;
  private reasons: Record<string, number> = {};

  constructor(
    private readonly slot: number,
    private readonly host: RegisterReader,
    /** Its shell writes the next hop, and drops what has none. */
    private readonly atSwitch = false,
  ) {}

  get byReason(): Record<string, number> {
    return this.reasons;
  }

  /** The module was reloaded. */
  restart(): void {
    this.counters.restart();
  }

  private async readShell(): Promise<Record<string, number>> {
    if (!this.atSwitch) return {};
    const [now = 0] = await this.host.port.readRegisters('shell', [at(NO_HOP, this.slot)]);
    // The shell counts on through loads of the slot, and anew after a power failure.
    const before = this.noHopBefore ?? now;
    this.noHop += now >= before ? now - before : now;
    this.noHopBefore = now;
    return this.noHop > 0 ? { 'no-hop': this.noHop } : {};
  }

  async read(module: string): Promise<void> {
    const { drops: names = [], registers } = identityOf(module) ?? {};
    const more = registers?.MORE_DROPS;
    const counters = [...allOf(DROPS), ...(more ? allOf(more) : [])];
    const addresses = [OVERSIZE.address, ...counters.slice(0, names.length)];
    const sums = this.counters.add(await this.host.port.readRegisters(this.slot, addresses));
    const counted = sums.map((count, i): [string, number] => [i === 0 ? 'oversize' : names[i - 1]!, count]);
    this.reasons = { ...Object.fromEntries(counted.filter(([, count]) => count > 0)), ...(await this.readShell()) };
  }
}
