import { type BoardListener, EVENT_WORDS } from '../board-port.js';
import { COMMON_REGISTERS } from '../registers.js';
import type { Registers } from './register-file.js';

const { EVENT_COUNT, EVENT_DATA } = COMMON_REGISTERS;
/** A module buffers 16 events: at 20 ms, none is lost below 800 per second. */
const PERIOD_MS = 20;
const FIFO_EVENTS = 16;

interface EventSource {
  slot: number;
  base: number;
  readable: () => boolean;
}

/** Polls modules for events at a fixed rate, for boards that do not deliver them. */
export class EventReader {
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly registers: Registers,
    private readonly sources: readonly EventSource[],
    private readonly listener: BoardListener,
    private readonly onFailure: (why: string) => void,
  ) {
    this.timer = setInterval(() => this.look(), PERIOD_MS).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private look(): void {
    try {
      for (const source of this.sources) if (source.readable()) this.drain(source);
    } catch (error) {
      this.stop();
      this.onFailure((error as Error).message);
    }
  }

  private drain({ slot, base }: EventSource): void {
    const waiting = Math.min(this.registers.read(base + EVENT_COUNT.address), FIFO_EVENTS);
    for (let n = 0; n < waiting; n++) {
      const words = Array.from({ length: EVENT_WORDS }, () => this.registers.read(base + EVENT_DATA.address));
      this.listener.event({ slot, words });
    }
  }
}
