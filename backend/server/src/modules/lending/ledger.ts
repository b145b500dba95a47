import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type EventDraft, Id, LendingTurn, LendingWhy, MAX_ACCELERATORS, Name, NfRef } from '@orrery/contract';
import type { LendingState, Loan } from '@orrery/planner';
import { z } from 'zod';
import { type Batch, COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { acceleratorResource, LEASES, type LeaseBook } from '../../ports/lease-book.js';
import { MAX_GROUPS } from './groups.js';

const Milliseconds = z.number().min(0);

/** What a VNF ran as in software, where, and as which instance. */
const Home = z.strictObject({ on: z.enum(['software', 'container']), server: Name, instance: Id });

/**
 * `granting` and `releasing` are stored before the element manager is called, or a move is asked for, so that who may have an
 * accelerator is known whatever becomes of that.
 */
const StoredLoan = z.strictObject({
  accelerator: z.string(),
  /** The instance in software; in a slot it is another one, of the same NF. */
  vnf: Id,
  /** Null: of an earlier server, which lent no slots. */
  nf: NfRef.nullable(),
  /** Null: it does not move for it. */
  home: Home.nullable(),
  held_ms: Milliseconds,
  state: z.enum(['granting', 'held', 'releasing']),
  /** Why it is granted or, with `releasing`, released. */
  why: LendingWhy,
  /** Turn that it began; null: not confirmed yet. */
  turn: Id.nullable(),
});
export type StoredLoan = z.infer<typeof StoredLoan>;

/** Who has, or may have, which accelerator. */
const Holding = StoredLoan.pick({ accelerator: true, vnf: true, nf: true, home: true });
export type Holding = z.infer<typeof Holding>;
export type Home = z.infer<typeof Home>;

const Ledger = z.strictObject({
  group_id: Id,
  accounts: z.record(
    z.string(),
    z.strictObject({
      time_ms: Milliseconds,
      held_ms: Milliseconds,
      waited_ms: Milliseconds,
      turn: z.int().min(0),
      here: z.boolean(),
    }),
  ),
  loans: z.array(StoredLoan),
  /** Who was not waited for while its server was away: it may use the accelerator until it was asked to release it. */
  owed: z.array(Holding),
  turns: z.int().min(0),
  /** Turns that ended and are no longer kept. */
  dropped: z.int().min(0),
});
/** What a group has lent, and what its VNFs have had. */
export type Ledger = z.infer<typeof Ledger>;

/** Of groups, and of as many that were deleted and wait for what they have lent. */
const MAX_LEDGERS = 2 * MAX_GROUPS;
const KEEP_TURNS = 500;
/** Every ledger has room for its turns, and for one of each accelerator that is lent. */
const MAX_TURNS = MAX_LEDGERS * (KEEP_TURNS + MAX_ACCELERATORS);

export const emptyLedger = (group_id: string): Ledger => ({
  group_id,
  accounts: {},
  loans: [],
  owed: [],
  turns: 0,
  dropped: 0,
});

/** For the planner, which decides about loans that are held. */
export function stateOf({ accounts, loans, turns }: Ledger, isSettled: (loan: StoredLoan) => boolean): LendingState {
  return { accounts, turns, loans: loans.map((loan) => ({ ...loan, settled: isSettled(loan) })) };
}

/** The ledger after time has passed. */
export function withTimes(ledger: Ledger, { accounts, loans, turns }: LendingState): Ledger {
  const held = new Map(loans.map(({ accelerator, held_ms }: Loan) => [accelerator, held_ms]));
  return {
    ...ledger,
    accounts: { ...accounts },
    turns,
    loans: ledger.loans.map((loan) => ({ ...loan, held_ms: held.get(loan.accelerator) ?? loan.held_ms })),
  };
}

/** Between the decision on a loan, from which it is held, and its record; under load, too. */
const RECORDED_MS = 1000;

/** When a turn that lasts began, by the wall clock of now: it was set back where that is too late for the time held since. */
export function begunMs({ from_ms }: LendingTurn, { held_ms }: StoredLoan, nowMs: number): number {
  const isTooLate = from_ms > nowMs || nowMs - from_ms < held_ms - RECORDED_MS;
  return isTooLate ? Math.max(0, Math.round(nowMs - held_ms)) : from_ms;
}

export interface LedgerChange {
  readonly ledger: Ledger;
  /** Turns that begin or end. */
  readonly turns?: readonly LendingTurn[];
  readonly events?: readonly EventDraft[];
}

/** Stored ledgers and turns; the leases of accelerators change in the same transactions. */
@Injectable()
export class LendingLedgers implements OnModuleInit {
  private readonly ledgers: DurableCollection<Ledger>;
  private readonly turns: DurableCollection<LendingTurn>;

  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(LEASES) private readonly leases: LeaseBook,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {
    this.ledgers = collections.open<Ledger>({
      key: KEYS.lendingLedgers,
      noun: 'ledger of a lending group',
      schema: Ledger,
      version: 4,
      migrate: ofEarlier,
      idOf: ({ group_id }) => group_id,
      bound: { most: MAX_LEDGERS, policy: 'refuse' },
    });
    this.turns = collections.open<LendingTurn>({
      key: KEYS.lendingTurns,
      noun: 'turn',
      schema: LendingTurn,
      version: 2,
      migrate: withoutFound,
      idOf: ({ id }) => id,
      numbered: 'newest-first',
      order: (a, b) => b.from_ms - a.from_ms || (a.id < b.id ? 1 : -1),
      bound: { most: MAX_TURNS, policy: 'drop-last', keeps: ({ to_ms }) => to_ms === null },
    });
  }

  async onModuleInit(): Promise<void> {
    await this.ledgers.load();
    await this.turns.load();
  }

  groupIds(): string[] {
    return this.ledgers.all().map(({ group_id }) => group_id);
  }

  find(groupId: string): Ledger | undefined {
    return this.ledgers.find(groupId);
  }

  /** Newest first. */
  turnsOf(groupId: string): readonly LendingTurn[] {
    return this.turns.all().filter(({ group_id }) => group_id === groupId);
  }

  turn(id: string): LendingTurn | undefined {
    return this.turns.find(id);
  }

  /** Who may still use an accelerator that some group has lent it and lends no longer; null: nobody. */
  owedBy(accelerator: string): string | null {
    const owed = this.ledgers.all().flatMap((ledger) => ledger.owed);
    return owed.find((each) => each.accelerator === accelerator)?.vnf ?? null;
  }

  /** Who has or may have something of any group. */
  holders(): string[] {
    return this.ledgers.all().flatMap(({ loans, owed }) => [...loans, ...owed].map(({ vnf }) => vnf));
  }

  /** Of whichever group. */
  loanOf(accelerator: string): StoredLoan | null {
    const loans = this.ledgers.all().flatMap((ledger) => ledger.loans);
    return loans.find((each) => each.accelerator === accelerator) ?? null;
  }

  /** As stored, also after a transaction without a reply. */
  async read(groupId: string): Promise<Ledger> {
    await this.collections.certain();
    return this.ledgers.find(groupId) ?? emptyLedger(groupId);
  }

  /** Stores the ledger, with a lease of each accelerator that it has lent. Throws 409 if another group has lent it. */
  write({ ledger, turns = [], events = [] }: LedgerChange): Promise<void> {
    return this.collections.commit((batch) => {
      const { group_id, loans } = ledger;
      const had = this.ledgers.find(group_id)?.loans.map(({ accelerator }) => accelerator) ?? [];
      const has = loans.map(({ accelerator }) => accelerator);
      const ended = had.filter((each) => !has.includes(each)).map(acceleratorResource);
      if (ended.length > 0) this.leases.releaseIn(batch, 'lend', group_id, ended);
      const begun = has.filter((each) => !had.includes(each)).map(acceleratorResource);
      if (begun.length > 0) {
        const lease = { claim: 'lend', holder: group_id, purpose: 'lending group', by: 'lending' } as const;
        this.leases.acquireIn(batch, { ...lease, resources: begun });
      }
      for (const turn of turns) batch.put(this.turns, turn);
      const dropped = this.dropOldTurns(batch, group_id, turns);
      const before = this.ledgers.find(group_id)?.dropped ?? 0;
      batch.put(this.ledgers, { ...ledger, dropped: before + dropped });
      batch.also((transaction) => {
        for (const event of events) this.events.appendIn(transaction, event);
      });
    });
  }

  /** A group that was deleted, has lent nothing and is owed nothing is forgotten. */
  forget(groupId: string): Promise<void> {
    return this.collections.commit((batch) => {
      this.leases.releaseIn(batch, 'lend', groupId);
      batch.remove(this.ledgers, groupId);
      for (const { id } of this.turnsOf(groupId)) batch.remove(this.turns, id);
    });
  }

  onChange(listener: () => void): void {
    this.ledgers.onChange(listener);
  }

  /** How many were dropped. */
  private dropOldTurns(batch: Batch, groupId: string, written: readonly LendingTurn[]): number {
    if (written.length === 0) return 0;
    const kept = this.turnsOf(groupId).filter(({ id }) => !written.some((turn) => turn.id === id));
    const excess = Math.max(0, kept.length + written.length - KEEP_TURNS);
    const old = kept
      .filter(({ to_ms }) => to_ms !== null)
      .toReversed()
      .slice(0, excess);
    for (const { id } of old) batch.remove(this.turns, id);
    return old.length;
  }
}

/**
 * Version 1 named who was next, without the reason, and counted no dropped turns. Up to version 2 nothing was owed, up to 3 no
 * slot was lent.
 */
function ofEarlier(stored: unknown): unknown {
  const { loans, owed = [], ...ledger } = stored as Record<'loans' | 'owed', object[]>;
  const unmoved = { nf: null, home: null };
  return {
    dropped: 0,
    ...ledger,
    owed: owed.map((holding) => ({ ...unmoved, ...holding })),
    loans: (loans as Record<string, unknown>[]).map(({ next: _next, ...loan }) => ({
      ...unmoved,
      ...(withoutFound(loan) as object),
    })),
  };
}

/** Loans and turns of version 1 may be of VNFs that were found accelerated. */
function withoutFound(stored: unknown): unknown {
  const it = stored as { why: string };
  return it.why === 'found' ? { ...it, why: 'overload' } : it;
}
