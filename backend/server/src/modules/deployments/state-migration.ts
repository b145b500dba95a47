import { Inject, Injectable } from '@nestjs/common';
import type { Plan } from '@orrery/contract';
import { DESCRIPTORS, type DescriptorCatalogue } from '../../ports/descriptor-catalogue.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';

type Migration = Plan['migrations'][number];
/** As NFs export it: one table, whose rows begin with what `state.key` of the descriptor names, or figures by name. */
type FlowState = Readonly<Record<string, unknown>>;

/**
 * migrate_instance (HYPER III-A): flow state goes over to an instance before traffic is led to it, and once more after, for
 * flows that began in between; figures go over once. What cannot be moved is told; a chain without old flows is better
 * than none.
 */
@Injectable()
export class StateMigration {
  /** Entries that the first copy moved, by plan and instance. */
  private readonly moved = new Map<string, ReadonlySet<string>>();

  constructor(
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(DESCRIPTORS) private readonly catalogue: DescriptorCatalogue,
  ) {}

  async copy({ id, migrations = [], instances }: Plan, when: 'before' | 'after'): Promise<void> {
    for (const migration of migrations) {
      const nf = instances.find((it) => it.id === migration.to)?.nf ?? '';
      const columns = this.catalogue.find(nf)?.state.key.length;
      const key = `${id} ${migration.to}`;
      // A fabric that has to be told again is no reason to move everything again.
      if (when === 'before' && this.moved.has(key)) continue;
      try {
        await this.copyOne(migration, key, columns, when);
      } catch (error) {
        this.tell(migration, 'migration-failed', `its flows could not be moved: ${(error as Error).message}`, { when });
      }
    }
  }

  /** `columns`: how many tell rows apart; absent: a row is known only when it is the same in all. */
  private async copyOne(
    migration: Migration,
    key: string,
    columns: number | undefined,
    when: 'before' | 'after',
  ): Promise<void> {
    const { from, from_server, to, to_server } = migration;
    const began = performance.now();
    const exported = (await this.fleet.call(from_server, 'export_state', from, {})) as FlowState;
    const table = tableOf(exported);
    const entries = table ? (exported[table] as unknown[]) : Object.keys(exported);
    const identityOf = (entry: unknown) => JSON.stringify(Array.isArray(entry) ? entry.slice(0, columns) : entry);
    const known = when === 'after' ? this.moved.get(key) : undefined;
    const fresh = known ? entries.filter((entry) => !known.has(identityOf(entry))) : entries;
    if (when === 'after') this.moved.delete(key);
    const state = table ? { ...exported, [table]: fresh } : exported;
    if (fresh.length > 0) await this.fleet.call(to_server, 'import_state', to, { state });
    if (when === 'before') this.moved.set(key, new Set(entries.map(identityOf)));
    if (fresh.length === 0) return;
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

function tableOf(state: FlowState): string | null {
  return Object.keys(state).find((name) => Array.isArray(state[name])) ?? null;
}
