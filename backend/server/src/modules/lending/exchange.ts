import type { EventDraft, LendingTurn, LendingWhy } from '@orrery/contract';
import { granted, released } from '@orrery/planner';
import type { LoopRun } from '../../platform/control-loop/definition.js';
import { newId } from '../../platform/ids.js';
import type { Desk } from './desk.js';
import { type Ledger, type LedgerChange, type LendingLedgers, type StoredLoan, stateOf } from './ledger.js';
import type { LendingMembers } from './members.js';

/** One accelerator changes hands: `from` gives it up for this reason, then `to` gets it. */
export interface Transfer {
  readonly accelerator: string;
  readonly from: LendingWhy | null;
  readonly to: { readonly vnf: string; readonly why: LendingWhy } | null;
}

/**
 * Carries out transfers of one group during one run. Each intention is stored before its call, and each outcome after it. A call
 * without a definite outcome leaves its loan as `granting` or `releasing`: neither has the accelerator until it is settled.
 */
export class Exchange {
  constructor(
    private readonly groupId: string,
    private readonly desk: Desk,
    private readonly ledgers: LendingLedgers,
    private readonly members: LendingMembers,
    private readonly run: LoopRun,
  ) {}

  async transfer({ accelerator, from, to }: Transfer): Promise<void> {
    const beganMs = performance.now();
    if (from) {
      const next = to?.vnf ?? null;
      await this.write({ ledger: this.with(accelerator, { state: 'releasing', why: from, next }) });
      await this.giveUp(accelerator, to?.why ?? 'overload', beganMs);
    } else if (to) {
      await this.write({ ledger: withGrant(this.desk.ledger, accelerator, to.vnf, to.why) });
      await this.give(accelerator, beganMs);
    }
  }

  /** A loan of which it is not known what became of the last call: the element manager is asked first. */
  async settle({ accelerator, vnf, state }: StoredLoan): Promise<void> {
    const nowMs = performance.now();
    if (this.members.isGone(vnf)) {
      if (state === 'granting') await this.write({ ledger: without(this.desk.ledger, accelerator) });
      else await this.giveUp(accelerator, 'overload', null);
      return;
    }
    const told = this.members.stateOf(vnf);
    if (!told || !this.members.isHeard(vnf) || !this.desk.mayCall(vnf, nowMs)) return;
    if (state === 'releasing') await this.giveUp(accelerator, 'overload', null);
    else if (told.accelerated) await this.confirm(accelerator, null);
    // It may still be on its way to accelerate.
    else if (await this.called(accelerator, vnf, false))
      await this.write({ ledger: without(this.desk.ledger, accelerator) });
  }

  /** What the group finds accelerated although it lent it nothing. */
  async adopt(accelerator: string, vnf: string): Promise<void> {
    await this.write({ ledger: withGrant(this.desk.ledger, accelerator, vnf, 'found') });
    await this.confirm(accelerator, null);
  }

  async turnBack(vnf: string): Promise<void> {
    await this.called(vnf, vnf, false);
  }

  private async giveUp(accelerator: string, why: LendingWhy, beganMs: number | null): Promise<void> {
    const calledMs = performance.now();
    const { vnf } = this.desk.loanOf(accelerator)!;
    if (!this.members.isGone(vnf) && !(await this.called(accelerator, vnf, false))) return;
    this.desk.succeeded(vnf);
    const loan = this.desk.loanOf(accelerator)!;
    const rest = without(this.desk.ledger, accelerator);
    const next = loan.next !== null && !this.members.isGone(loan.next) ? loan.next : null;
    const turn = loan.turn === null ? undefined : this.ledgers.turn(loan.turn);
    const ended = turn && { ...turn, to_ms: Math.max(Date.now(), turn.from_ms), ended: loan.why };
    const switch_ms = performance.now() - calledMs;
    await this.write({
      ledger: next === null ? rest : withGrant(rest, accelerator, next, why),
      turns: ended ? [ended] : [],
      events: [this.told('lending.released', loan, switch_ms)],
    });
    if (next !== null) await this.give(accelerator, beganMs);
  }

  private async give(accelerator: string, beganMs: number | null): Promise<void> {
    const { vnf } = this.desk.loanOf(accelerator)!;
    if (await this.called(accelerator, vnf, true))
      await this.confirm(accelerator, beganMs === null ? null : performance.now() - beganMs);
  }

  private async confirm(accelerator: string, switch_ms: number | null): Promise<void> {
    const loan = this.desk.loanOf(accelerator)!;
    this.desk.succeeded(loan.vnf);
    const nf = this.members.nfOf(loan.vnf);
    const turn: LendingTurn | null = nf && {
      id: newId('lt'),
      group_id: this.groupId,
      accelerator,
      instance_id: loan.vnf,
      ...nf,
      from_ms: Date.now(),
      to_ms: null,
      why: loan.why,
      ended: null,
      switch_ms,
    };
    await this.write({
      ledger: this.with(accelerator, { state: 'held', held_ms: 0, turn: turn?.id ?? null }),
      turns: turn ? [turn] : [],
      events: [this.told('lending.granted', loan, switch_ms)],
    });
  }

  /** Whether the element manager did as asked. If not, what it does is not known. */
  private async called(accelerator: string, vnf: string, accelerated: boolean): Promise<boolean> {
    const { calling } = this.desk;
    calling.add(accelerator);
    try {
      await this.members.switchTo(vnf, accelerated, this.run.signal);
      return true;
    } catch (error) {
      this.run.signal.throwIfAborted();
      this.desk.failed(vnf, performance.now());
      const what = accelerated ? 'Could not grant' : 'Could not release';
      this.run.decide({ subject: this.groupId, what, why: (error as Error).message, inputs: { accelerator, vnf } });
      return false;
    } finally {
      calling.delete(accelerator);
    }
  }

  /** What is decided next is based on it; if it cannot be stored, the run fails and the next one reads the ledger anew. */
  private async write(change: LedgerChange): Promise<void> {
    this.run.signal.throwIfAborted();
    this.desk.ledger = change.ledger;
    await this.ledgers.write(change);
  }

  private with(accelerator: string, changes: Partial<StoredLoan>): Ledger {
    const { ledger } = this.desk;
    const loans = ledger.loans.map((loan) => (loan.accelerator === accelerator ? { ...loan, ...changes } : loan));
    return { ...ledger, loans };
  }

  private told(type: 'lending.granted' | 'lending.released', loan: StoredLoan, switch_ms: number | null): EventDraft {
    const { accelerator, vnf, why } = loan;
    const what = type === 'lending.granted' ? `${vnf} was granted ${accelerator}` : `${vnf} released ${accelerator}`;
    return {
      type,
      subject: this.groupId,
      message: `${what}: ${WORDS[why]}`,
      data: { group_id: this.groupId, accelerator, instance: vnf, why, switch_ms },
    };
  }
}

const WORDS: Record<LendingWhy, string> = {
  overload: 'it is overloaded',
  turn: 'it is its turn',
  found: 'it was found to use it',
  idle: 'its usage fell',
  'slice-over': 'its slice is over and another one waits',
  gone: 'it runs no more',
  failed: 'the accelerator failed',
  disabled: 'it is no longer lent',
};

function withGrant(ledger: Ledger, accelerator: string, vnf: string, why: LendingWhy): Ledger {
  const { accounts, turns } = granted(
    stateOf(ledger, () => true),
    accelerator,
    vnf,
  );
  const loan: StoredLoan = { accelerator, vnf, held_ms: 0, state: 'granting', why, next: null, turn: null };
  return { ...ledger, accounts: { ...accounts }, turns, loans: [...ledger.loans, loan] };
}

function without(ledger: Ledger, accelerator: string): Ledger {
  const { loans } = released(
    stateOf(ledger, () => true),
    accelerator,
  );
  return { ...ledger, loans: ledger.loans.filter((each) => loans.some((it) => it.accelerator === each.accelerator)) };
}
