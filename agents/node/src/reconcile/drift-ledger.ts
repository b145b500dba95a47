import type { Drift } from '../drivers/nf-driver.js';
import type { Emit } from '../link/agent-event.js';

interface Entry {
  drift: Drift;
  foundMs: number;
}

const keyOf = ({ part, difference }: Drift) => `${part}\n${difference}`;

/** Tells each difference between what is applied and what is there once, and its end. */
export class DriftLedger {
  private readonly open = new Map<string, Entry>();

  constructor(
    private readonly node: string,
    private readonly emit: Emit,
  ) {}

  /** All differences at this time; `nowMs` is monotonic. */
  update(found: readonly Drift[], nowMs: number): void {
    const there = new Map(found.map((drift) => [keyOf(drift), drift]));
    for (const [key, { drift, foundMs }] of this.open) {
      if (there.has(key)) continue;
      this.open.delete(key);
      const { part, difference } = drift;
      const ms = Math.round(nowMs - foundMs);
      this.emit('drift.repaired', this.node, `${part} is as desired again (${difference})`, { part, difference, ms });
    }
    for (const [key, drift] of there) {
      const before = this.open.get(key);
      this.open.set(key, { drift, foundMs: before?.foundMs ?? nowMs });
      if (before?.drift.blocked === drift.blocked) continue;
      const outcome = drift.blocked === null ? 'it is repaired' : `not repaired: ${drift.blocked}`;
      this.emit('drift.found', this.node, `${drift.part}: ${drift.difference}; ${outcome}`, { ...drift });
    }
  }
}
