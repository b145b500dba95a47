import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type ChainDefinition, DEFAULT_PERIOD_S, type SloStatus, TimestampMs } from '@orrery/contract';
import { z } from 'zod';
import { type Batch, COLLECTIONS, type Collections } from '../../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../../platform/durable-collection/durable-collection.js';
import { LOG, type Log } from '../../../platform/log.js';
import { STORE, type Store } from '../../../platform/redis.js';
import { KEYS } from '../../../platform/redis-keys.js';
import { EVENT_LOG, type EventLog } from '../../../ports/event-log.js';
import { budgetOf } from '../budget/budget.js';
import { bucketsOf, COARSE_S, FINE_S, SecondsHistory, type Verdict } from '../budget/seconds-history.js';
import { HistoryClock, StoredClock } from './history-clock.js';
import { type ObjectiveTerms, termsOf, worseOf } from './objective-terms.js';
import { encodeField, fieldOf, hasPassed, restore } from './stored-history.js';

/** An objective whose seconds are counted. */
const LedgerRecord = z.strictObject({
  chain_id: z.string(),
  slo_id: z.string(),
  kind: z.string().max(40),
  target: z.number(),
  judged_by: z.string().max(2000),
  goal: z.number(),
  period_s: z.int().min(COARSE_S),
  /** Time of the history. */
  since_ms: TimestampMs,
});
export type LedgerRecord = z.infer<typeof LedgerRecord>;

/** Further objectives have no budget, which is told. */
export const MOST_LEDGERS = 2000;
/** Of all histories together, which is 0.3 GB: so many of 30 days, or fewer of longer periods. */
const MOST_BUCKETS = MOST_LEDGERS * bucketsOf(DEFAULT_PERIOD_S);
/** Between two stored times where no second is counted. A wall clock that is set meanwhile counts as time once the server is killed. */
const TIME_MS = 60_000;
/** A later verdict does not stand for the time before. */
const LONGEST_TICK_S = 2;

export interface Ledger {
  readonly record: LedgerRecord;
  readonly history: SecondsHistory;
  /** Null: the objective is not judged now. */
  readonly status: SloStatus | null;
}

interface Open extends Ledger {
  status: SloStatus | null;
  /** Fields in the store, and those that have changed since. */
  readonly fields: Set<string>;
  readonly changed: Set<string>;
  /** The coarse bucket that seconds were counted in last. */
  coarse: number | null;
}

/** Fields of a history that are stored, and removed. */
interface Write {
  readonly ledger: Open;
  readonly gone: readonly string[];
  readonly changed: readonly string[];
}

export const ledgerId = ({ chain_id, slo_id }: Pick<LedgerRecord, 'chain_id' | 'slo_id'>) => `${chain_id} ${slo_id}`;

const VERDICTS: Readonly<Record<SloStatus['state'], Verdict>> = {
  met: 'good',
  violated: 'bad',
  'no-data': 'unknown',
  'warming-up': 'unknown',
  stale: 'unknown',
};

/** Counts the seconds of every objective of the deployed chains, in memory and, ten seconds later at most, in the store. */
@Injectable()
export class SloLedgers implements OnModuleInit {
  private readonly records: DurableCollection<LedgerRecord>;
  private readonly open = new Map<string, Open>();
  /** Objectives that are being stored, with the buckets of their histories. */
  private readonly beginning = new Map<string, number>();
  /** Objectives beyond the bound. */
  private uncounted: ReadonlySet<string> = new Set();
  private lastTickMs: number | null = null;
  /** Monotonic clock: when the time was stored last. */
  private storedMs = Number.NEGATIVE_INFINITY;
  clock = new HistoryClock(null);

  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(STORE) private readonly store: Store,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(LOG) private readonly log: Log,
  ) {
    this.records = collections.open<LedgerRecord>({
      key: KEYS.sloLedgers,
      noun: 'objective with a budget',
      schema: LedgerRecord,
      version: 1,
      idOf: ledgerId,
      bound: { most: MOST_LEDGERS, policy: 'refuse' },
    });
  }

  async onModuleInit(): Promise<void> {
    await this.records.load();
    const clock = StoredClock.safeParse(await this.store.redis.hgetall(KEYS.sloClock));
    this.clock = new HistoryClock(clock.data ?? null);
    for (const record of this.records.all()) {
      const stored = await this.store.redis.hgetall(KEYS.sloHistory(record.chain_id, record.slo_id));
      this.open.set(ledgerId(record), this.opened(record, stored));
    }
  }

  all(): readonly Ledger[] {
    return [...this.open.values()];
  }

  find(chainId: string, sloId: string): Ledger | undefined {
    return this.open.get(ledgerId({ chain_id: chainId, slo_id: sloId }));
  }

  /** Ids of the chains whose objectives have ledgers. */
  chains(): ReadonlySet<string> {
    return new Set(this.records.all().map(({ chain_id }) => chain_id));
  }

  /** Objectives that have no budget because there are too many. */
  get uncountedNumber(): number {
    return this.uncounted.size;
  }

  /** Counts the time since the last call for each objective; returns the statuses with their budgets. Times of both clocks. */
  countSeconds(
    statuses: readonly SloStatus[],
    definitionOf: (chainId: string) => ChainDefinition | undefined,
    wallMs: number,
    monotonicMs: number,
  ): SloStatus[] {
    const seconds = this.lastTickMs === null ? 0 : Math.min(LONGEST_TICK_S, (monotonicMs - this.lastTickMs) / 1000);
    this.lastTickMs = monotonicMs;
    const nowMs = this.clock.at(wallMs, monotonicMs);
    for (const ledger of this.open.values()) ledger.status = null;
    const beyond = new Set<string>();
    let free: number | null = null;
    const counted = statuses.map((status) => {
      const terms = termsOf(definitionOf(status.chain_id) ?? { slos: [], class_slos: [] }, status.slo_id);
      const ledger = this.open.get(ledgerId(status));
      if (!terms) return status;
      if (!ledger || !isAsRecorded(ledger.record, terms)) {
        if (this.beginning.has(ledgerId(status))) return status;
        free ??= MOST_BUCKETS - this.takenBuckets();
        const more = bucketsOf(terms.period_s) - (ledger ? bucketsOf(ledger.record.period_s) : 0);
        if ((!ledger && this.records.size >= MOST_LEDGERS) || more > Math.max(0, free)) {
          beyond.add(ledgerId(status));
          return status;
        }
        free -= more;
        this.begin(status, terms, nowMs);
        return status;
      }
      ledger.history.record(VERDICTS[status.state], seconds, status.measured, nowMs);
      this.mark(ledger);
      const budget = budgetOf(ledger.history, ledger.record, nowMs);
      const judged = { ...status, budget: { ...budget, since_ms: this.clock.wallOf(budget.since_ms) } };
      ledger.status = judged;
      return judged;
    });
    this.tellUncounted(beyond);
    return counted;
  }

  /** By all that is counted, once its histories are full. */
  private takenBuckets(): number {
    const stored = this.records.all().map(({ period_s }) => bucketsOf(period_s));
    return [...stored, ...this.beginning.values()].reduce((sum, each) => sum + each, 0);
  }

  private tellUncounted(beyond: ReadonlySet<string>): void {
    const [first] = beyond;
    if (first !== undefined && this.uncounted.size === 0) {
      const [chainId = '', slo_id = ''] = first.split(' ');
      this.events.append({
        type: 'slo.uncounted',
        subject: chainId,
        message: `Objective ${slo_id} has no budget: there is room for ${MOST_LEDGERS} of 30 days, or fewer of longer periods`,
        data: { slo_id },
      });
    }
    this.uncounted = beyond;
  }

  /** Time passes of which nobody will say anything. */
  interrupt(): void {
    this.lastTickMs = null;
  }

  /**
   * Stores the time and what has changed, in one transaction, and removes what is too old; not while a history is begun or removed.
   * Where nothing has changed, the time once in a minute.
   */
  async flush(wallMs: number, monotonicMs: number): Promise<void> {
    const nowMs = this.clock.at(wallMs, monotonicMs);
    let writes: readonly Write[] = [];
    try {
      await this.collections.commit((batch) => {
        writes = this.writesAt(nowMs);
        if (writes.length === 0 && monotonicMs - this.storedMs < TIME_MS) return;
        for (const { ledger } of writes) ledger.changed.clear();
        batch.also((transaction) => {
          for (const { ledger, gone, changed } of writes) {
            const key = KEYS.sloHistory(ledger.record.chain_id, ledger.record.slo_id);
            const fields = changed.flatMap((field) => [field, encodeField(ledger.history, field)]);
            if (fields.length > 0) transaction.hset(key, ...fields);
            if (gone.length > 0) transaction.hdel(key, ...gone);
          }
          transaction.hset(KEYS.sloClock, { history_ms: nowMs, wall_ms: wallMs });
        });
        batch.onStored(() => {
          this.storedMs = monotonicMs;
          for (const { ledger, gone, changed } of writes) {
            for (const field of changed) ledger.fields.add(field);
            for (const field of gone) ledger.fields.delete(field);
          }
        });
      });
    } catch (error) {
      for (const { ledger, changed } of writes) for (const field of changed) ledger.changed.add(field);
      throw error;
    }
  }

  private writesAt(nowMs: number): Write[] {
    return [...this.open.values()].flatMap((ledger) => {
      const gone = [...ledger.fields].filter((field) => hasPassed(ledger.history, field, nowMs));
      const changed = [...ledger.changed];
      return changed.length + gone.length > 0 ? [{ ledger, gone, changed }] : [];
    });
  }

  /** Forgets objectives with all that is stored of them; `also` adds to the transaction. */
  remove(records: readonly LedgerRecord[], also: (batch: Batch) => void = () => undefined): Promise<void> {
    return this.collections.commit((batch) => {
      for (const record of records) batch.remove(this.records, ledgerId(record));
      batch.also((transaction) => {
        for (const { chain_id, slo_id } of records) transaction.del(KEYS.sloHistory(chain_id, slo_id));
      });
      batch.onStored(() => {
        for (const record of records) this.open.delete(ledgerId(record));
      });
      also(batch);
    });
  }

  /** Objectives that a chain with this definition has no longer. */
  absentFrom(chainId: string, definition: ChainDefinition): readonly LedgerRecord[] {
    return this.of(chainId).filter(({ slo_id }) => termsOf(definition, slo_id) === null);
  }

  of(chainId: string): readonly LedgerRecord[] {
    return this.records.all().filter(({ chain_id }) => chain_id === chainId);
  }

  private begin(status: SloStatus, terms: ObjectiveTerms, nowMs: number): void {
    const id = ledgerId(status);
    this.beginning.set(id, bucketsOf(terms.period_s));
    const { chain_id, slo_id, kind, target } = status;
    const before = this.open.get(id);
    const isSame = before?.record.judged_by === terms.judgedBy;
    const since_ms = isSame ? before.record.since_ms : Math.round(nowMs);
    const { judgedBy: judged_by, goal, period_s } = terms;
    const record = { chain_id, slo_id, kind, target, judged_by, goal, period_s, since_ms };
    this.collections
      .commit((batch) => {
        batch.put(this.records, record);
        batch.also((transaction) => {
          if (isSame) return;
          transaction.del(KEYS.sloHistory(chain_id, slo_id));
          if (before)
            this.events.appendIn(transaction, {
              type: 'slo.budget-begun',
              subject: chain_id,
              message: `Objective ${slo_id} was changed: its seconds are counted anew`,
              data: { slo_id },
            });
        });
        batch.onStored(() => {
          const fresh = this.opened(record, {});
          const kept = isSame && { ...before!, record, history: before!.history.withPeriod(period_s) };
          this.open.set(id, kept || fresh);
        });
      })
      .catch((error: Error) => this.log.warn({ error: error.message, id }, 'no budget of an objective yet'))
      .finally(() => this.beginning.delete(id));
  }

  private opened(record: LedgerRecord, stored: Readonly<Record<string, string>>): Open {
    const kind = record.kind as SloStatus['kind'];
    const history = new SecondsHistory(record.period_s, worseOf({ kind, target: record.target }));
    const unreadable = restore(history, stored);
    if (unreadable.length > 0)
      this.log.warn({ id: ledgerId(record), unreadable }, 'seconds of an objective cannot be read');
    const fields = new Set(Object.keys(stored).filter((field) => !unreadable.includes(field)));
    const coarse = history.fine.last === null ? null : coarseOf(history.fine.last);
    // The last one had not ended when it was stored: fine buckets knew the rest, and will be gone.
    const changed = new Set(coarse === null ? [] : [fieldOf('c', coarse)]);
    return { record, history, status: null, fields, changed, coarse };
  }

  /** The fields of the newest buckets; a coarse one is stored when seconds are counted in another. */
  private mark(ledger: Open): void {
    const { history, changed } = ledger;
    const { last } = history.fine;
    if (last === null) return;
    changed.add(fieldOf('f', last));
    if (last > 0) changed.add(fieldOf('f', last - 1));
    const coarse = coarseOf(last);
    if (ledger.coarse !== null && ledger.coarse !== coarse) changed.add(fieldOf('c', ledger.coarse));
    ledger.coarse = coarse;
  }
}

const coarseOf = (fine: number) => Math.floor((fine * FINE_S) / COARSE_S);

function isAsRecorded({ judged_by, goal, period_s }: LedgerRecord, terms: ObjectiveTerms): boolean {
  return judged_by === terms.judgedBy && goal === terms.goal && period_s === terms.period_s;
}
