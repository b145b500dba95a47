import type { EventDraft, Infrastructure } from '@orrery/contract';

interface DriverChange {
  readonly sinceMs: number;
  /** The failure that was told last. */
  failure: EventDraft | null;
}

/**
 * A switch of the twin whose driver is changed does not answer for a moment, which its agents tell as failures. They are kept
 * back until the switch is in its desired state by its new driver, and told if they outlast the time for that.
 */
export class ExpectedFailures {
  private drivers: ReadonlyMap<string, string> = new Map();
  private readonly changes = new Map<string, DriverChange>();

  /** `limitMs`: the time that a change may take. */
  constructor(private readonly limitMs: number) {}

  /** Call at the start, and when the infrastructure has changed. */
  follow({ switches }: Pick<Infrastructure, 'switches'>, nowMs: number): void {
    const now = new Map(switches.flatMap(({ id, origin, driver }) => (origin === 'twin' ? [[id, driver]] : [])));
    for (const [id, driver] of now) {
      const before = this.drivers.get(id);
      const failure = this.changes.get(id)?.failure ?? null;
      if (before !== undefined && before !== driver) this.changes.set(id, { sinceMs: nowMs, failure });
    }
    for (const id of this.changes.keys()) if (!now.has(id)) this.changes.delete(id);
    this.drivers = now;
  }

  /** Whether an event is kept back. */
  holds(draft: EventDraft): boolean {
    const change = this.changes.get(draft.subject);
    if (!change) return false;
    if (draft.type === 'switch.recovered') change.failure = null;
    if (draft.type !== 'switch.failed') return false;
    change.failure = draft;
    return true;
  }

  /** The failures that outlast their change. `isWell`: in its desired state by its new driver. */
  due(nowMs: number, isWell: (id: string) => boolean, isFailed: (id: string) => boolean): EventDraft[] {
    return [...this.changes].flatMap(([id, { sinceMs, failure }]) => {
      const isWellNow = isWell(id);
      if (!isWellNow && nowMs - sinceMs < this.limitMs) return [];
      this.changes.delete(id);
      return failure !== null && !isWellNow && isFailed(id) ? [failure] : [];
    });
  }
}
