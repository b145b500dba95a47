import type { EngineStats } from '@orrery/contract';
import type { Emit } from '../../link/agent-event.js';
import { backoffMs } from '../../platform/backoff.js';

const REOPEN = { first_ms: 200, most_ms: 5000 };

/**
 * Tells when ports of the engine lose their link and get it back. A port stays down after another interface has taken its
 * name; the engine opens the new one when the graph is applied again, for which `reopen` is called, less and less often.
 */
export class PortWatch {
  private down: ReadonlySet<string> = new Set();
  private reopens = 0;
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly node: string,
    private readonly emit: Emit,
    private readonly reopen: () => void,
  ) {}

  /** `retries`: whether there is a graph to apply again. */
  take(ports: EngineStats['ports'], retries: boolean): void {
    const down = new Set(ports.filter(({ up }) => !up).map(({ name }) => name));
    for (const { name, up } of ports) {
      if (!up && !this.down.has(name)) this.emit('port.down', this.node, `Port ${name}: link down`, { port: name });
      if (up && this.down.has(name)) this.emit('port.up', this.node, `Port ${name}: link up`, { port: name });
    }
    this.down = down;
    if (down.size === 0) this.reopens = 0;
    else if (retries) this.retry();
  }

  /** The engine has ended, and its ports with it. */
  forget(): void {
    this.down = new Set();
  }

  private retry(): void {
    if (this.timer) return;
    this.reopens++;
    this.timer = setTimeout(
      () => {
        this.timer = null;
        if (this.down.size > 0) this.reopen();
      },
      backoffMs(REOPEN, this.reopens, Math.random()),
    ).unref();
  }
}
