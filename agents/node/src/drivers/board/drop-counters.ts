import type { BoardPort } from './board-port.js';
import { allOf } from './fields.js';
import { identityOf } from './module-names.js';
import { COMMON_REGISTERS } from './registers.js';
import { WrappingCounters } from './wrapping-counters.js';

const { DROPS, OVERSIZE } = COMMON_REGISTERS;

export interface RegisterReader {
  readonly port: Pick<BoardPort, 'readRegisters'>;
}

/** Drops of an instance by its module's reasons, accumulated over reloads. */
export class DropCounters {
  private readonly counters = new WrappingCounters();
  private reasons: Record<string, number> = {};

  constructor(
    private readonly slot: number,
    private readonly host: RegisterReader,
  ) {}

  get byReason(): Record<string, number> {
    return this.reasons;
  }

  /** The module was reloaded. */
  restart(): void {
    this.counters.restart();
  }

  async read(module: string): Promise<void> {
    const { drops: names = [], registers } = identityOf(module) ?? {};
    const more = registers?.MORE_DROPS;
    const counters = [...allOf(DROPS), ...(more ? allOf(more) : [])];
    const addresses = [OVERSIZE.address, ...counters.slice(0, names.length)];
    const sums = this.counters.add(await this.host.port.readRegisters(this.slot, addresses));
    const counted = sums.map((count, i): [string, number] => [i === 0 ? 'oversize' : names[i - 1]!, count]);
    this.reasons = Object.fromEntries(counted.filter(([, count]) => count > 0));
  }
}
