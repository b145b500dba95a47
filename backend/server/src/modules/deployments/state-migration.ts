import { Inject, Injectable } from '@nestjs/common';
import type { Plan } from '@orrery/contract';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';

type Migration = Plan['migrations'][number];
/** As NFs export it: one table, whose rows begin with what tells them apart. */
type FlowState = Readonly<Record<string, unknown>>;

/** Columns that tell the rows of an NF's table apart; the 5-tuple where nothing is said. */
const KEY_COLUMNS: Readonly<Record<string, number>> = { nat: 3, 'ddos-detector': 1 };
const FIVE_TUPLE = 5;

/**
 * migrate_instance (HYPER III-A): flow state goes over to an instance before traffic is led to it, and once more after, for
 * flows that began in between. What cannot be moved is told; a chain without old flows is better than none.
 */
@Injectable()
export class StateMigration {
  /** Flows that the first copy moved, by plan and instance. */
  private readonly moved = new Map<string, ReadonlySet<string>>();

  constructor(
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {}

  async copy({ id, migrations = [], instances }: Plan, when: 'before' | 'after'): Promise<void> {
    for (const migration of migrations) {
      const nf = instances.find((it) => it.id === migration.to)?.nf ?? '';
      const key = `${id} ${migration.to}`;
      // A fabric that has to be told again is no reason to move everything again.
      if (when === 'before' && this.moved.has(key)) continue;
      try {
        await this.copyOne(migration, key, KEY_COLUMNS[nf] ?? FIVE_TUPLE, when);
      } catch (error) {
        this.tell(migration, 'migration-failed', `its flows could not be moved: ${(error as Error).message}`, { when });
      }
    }
  }

  private async copyOne(migration: Migration, key: string, columns: number, when: 'before' | 'after'): Promise<void> {
    const { from, from_server, to, to_server } = migration;
    const began = performance.now();
    const exported = (await this.fleet.call(from_server, 'export_state', from, {})) as FlowState;
    const [table, rows] = tableOf(exported);
    const flowOf = (row: unknown) => JSON.stringify(Array.isArray(row) ? row.slice(0, columns) : row);
    const known = when === 'after' ? this.moved.get(key) : undefined;
    const fresh = known ? rows.filter((row) => !known.has(flowOf(row))) : rows;
    if (when === 'before') this.moved.set(key, new Set(rows.map(flowOf)));
    else this.moved.delete(key);
    if (fresh.length === 0) return;
    await this.fleet.call(to_server, 'import_state', to, { state: { ...exported, [table]: fresh } });
    const ms = performance.now() - began;
    const figures = { when, entries: fresh.length, ms, entries_per_s: Math.round(fresh.length / (ms / 1000)) };
    this.tell(migration, 'migrated', `${fresh.length} entries moved in ${ms.toFixed(0)} ms`, figures);
  }

  private tell({ from, to }: Migration, what: string, message: string, data: Record<string, unknown>): void {
    this.events.append({
      type: `instance.${what}`,
      severity: what === 'migrated' ? 'info' : 'warning',
      subject: to,
      message: `${from} to ${to}: ${message}`,
      data: { from, to, ...data },
    });
  }
}

function tableOf(state: FlowState): [name: string, rows: readonly unknown[]] {
  const found = Object.entries(state).find((entry): entry is [string, unknown[]] => Array.isArray(entry[1]));
  return found ?? ['flows', []];
}
