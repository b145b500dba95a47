import { Inject, Injectable } from '@nestjs/common';
import { flowRowKey, formatFlowRows, isFlowRows, nfInstances, type Plan, parseFlowRows } from '@orrery/contract';
import { DESCRIPTORS, type NfDescriptors } from '../../ports/descriptor-catalogue.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';

/**
 * For all copies of a plan together, repeated ones included; far below the deadline of a run of the deployment loop. What is
 * left is shared equally among the copies of a round that are still to come.
 */
const BUDGET_MS = 45_000;

type Migration = Plan['migrations'][number];
/**
 * As NFs export it: one table, in numbers or in binary rows, whose rows begin with the fields in `state.key` of the
 * descriptor; figures by name; or, of an NF whose state has no key, both as one whole, such as the sessions of a tunnel.
 */
type FlowState = Readonly<Record<string, unknown>>;

/**
 * migrate_instance (HYPER III-A): flow state is copied to an instance before traffic is steered to it, and once more after,
 * for flows that began in between; figures are copied once. A failed copy is logged once and does not stop the deployment: a
 * chain without old flows is better than none. A copy that has run out of time is not repeated.
 */
@Injectable()
export class StateMigration {
  /** Entries that the first copy moved, by instance, of each plan under way. */
  private readonly moved = new Map<string, Map<string, ReadonlySet<string>>>();
  /** Failed copies that were logged, of each plan under way. */
  private readonly failed = new Map<string, Set<string>>();
  /** Time that copies have taken, of each plan under way. */
  private readonly spentMs = new Map<string, number>();
  /** Instances whose copy has run out of time, of each plan under way. */
  private readonly late = new Map<string, Set<string>>();

  constructor(
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(DESCRIPTORS) private readonly catalogue: NfDescriptors,
  ) {}

  /** Makes no further call once `signal` is aborted, and waits for none; it then rejects with the reason. */
  async copy({ id, migrations = [], graph }: Plan, when: 'before' | 'after', signal: AbortSignal): Promise<void> {
    const moved = this.moved.get(id) ?? new Map<string, ReadonlySet<string>>();
    if (migrations.length > 0) this.moved.set(id, moved);
    const late = this.late.get(id) ?? new Set<string>();
    if (migrations.length > 0) this.late.set(id, late);
    for (const [i, migration] of migrations.entries()) {
      signal.throwIfAborted();
      if (late.has(migration.to)) continue;
      const nf = nfInstances(graph).find((it) => it.id === migration.to)?.nf ?? '';
      const columns = this.catalogue.find(nf)?.state.key.length;
      // Resending the fabric rules does not repeat the first copy.
      if (when === 'before' && moved.has(migration.to)) continue;
      const limitMs = Math.max(0, BUDGET_MS - (this.spentMs.get(id) ?? 0)) / (migrations.length - i);
      const began = performance.now();
      const tooLate = new AbortController();
      const timer = setTimeout(() => tooLate.abort(new Error(`took longer than ${seconds(limitMs)} s`)), limitMs);
      try {
        await this.copyOne(migration, moved, columns, when, AbortSignal.any([signal, tooLate.signal]));
      } catch (cause) {
        signal.throwIfAborted();
        const error: unknown = tooLate.signal.aborted ? tooLate.signal.reason : cause;
        const { from, to } = migration;
        if (tooLate.signal.aborted) late.add(to);
        if (!this.isFirstFailure(id, `${when} ${to}`)) continue;
        this.events.append({
          type: 'instance.migration-failed',
          subject: to,
          message: `${from} to ${to}: flows could not be moved: ${(error as Error).message}`,
          data: { from, to, when },
        });
      } finally {
        clearTimeout(timer);
        this.spentMs.set(id, (this.spentMs.get(id) ?? 0) + performance.now() - began);
      }
    }
  }

  /** For a plan that has been carried out or given up. */
  forget(planId: string): void {
    this.moved.delete(planId);
    this.failed.delete(planId);
    this.spentMs.delete(planId);
    this.late.delete(planId);
  }

  private isFirstFailure(planId: string, copy: string): boolean {
    const failed = this.failed.get(planId) ?? new Set<string>();
    this.failed.set(planId, failed);
    if (failed.has(copy)) return false;
    failed.add(copy);
    return true;
  }

  /** `columns`: number of key columns; absent: a row is identified by all of its columns. */
  private async copyOne(
    migration: Migration,
    moved: Map<string, ReadonlySet<string>>,
    columns: number | undefined,
    when: 'before' | 'after',
    signal: AbortSignal,
  ): Promise<void> {
    const { from, from_server, to, to_server } = migration;
    const began = performance.now();
    const exported = (await this.fleet.call(from_server, 'export_state', from, {}, signal)) as FlowState;
    signal.throwIfAborted();
    const { identities, only } = tableOf(exported, columns);
    const known = when === 'after' ? moved.get(to) : undefined;
    const fresh = identities.flatMap((identity, i) => (known?.has(identity) ? [] : [i]));
    if (when === 'after') moved.delete(to);
    if (fresh.length > 0) {
      const state = fresh.length < identities.length ? only(fresh) : exported;
      await this.fleet.call(to_server, 'import_state', to, { state }, signal);
      signal.throwIfAborted();
    }
    if (when === 'before') moved.set(to, new Set(identities));
    if (fresh.length === 0) return;
    const ms = performance.now() - began;
    this.events.append({
      type: 'instance.migrated',
      subject: to,
      message: `${from} to ${to}: ${fresh.length} entries moved in ${ms.toFixed(0)} ms`,
      data: { from, to, when, entries: fresh.length, ms, entries_per_s: Math.round(fresh.length / (ms / 1000)) },
    });
  }
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}

interface Table {
  /** Identity of each entry. */
  identities: string[];
  /** The state restricted to these entries. */
  only(entries: readonly number[]): FlowState;
}

function tableOf(state: FlowState, columns: number | undefined): Table {
  for (const [name, value] of Object.entries(state)) {
    if (isFlowRows(value)) {
      const { widths, rows } = parseFlowRows(value);
      return {
        identities: rows.map((row) => flowRowKey(widths, row, columns ?? widths.length)),
        only: (entries) => ({ ...state, [name]: formatFlowRows({ widths, rows: entries.map((i) => rows[i]!) }) }),
      };
    }
    if (Array.isArray(value) && columns === 0) {
      const identities = Object.entries(state).map((figure) => JSON.stringify(figure));
      return { identities, only: () => state };
    }
    if (Array.isArray(value))
      return {
        identities: value.map((entry) => JSON.stringify(Array.isArray(entry) ? entry.slice(0, columns) : entry)),
        only: (entries) => ({ ...state, [name]: entries.map((i) => value[i]) }),
      };
  }
  return { identities: Object.keys(state), only: () => state };
}
