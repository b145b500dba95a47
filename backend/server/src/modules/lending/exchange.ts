import { acceleratorName, type EventDraft, type LendingTurn, type LendingWhy } from '@orrery/contract';
import { granted, released } from '@orrery/planner';
import type { Decision } from '../../platform/control-loop/definition.js';
import { newId } from '../../platform/ids.js';
import { callOf, type Desk } from './desk.js';
import {
  begunMs,
  type Holding,
  type Ledger,
  type LedgerChange,
  type LendingLedgers,
  type StoredLoan,
  stateOf,
} from './ledger.js';
import type { LendingMembers, Member } from './members.js';

/** A release that took longer is no longer followed by what was decided before it: it is decided anew. */
const PROMPT_MS = 500;

interface Grant extends Pick<Holding, 'vnf' | 'nf' | 'home'> {
  readonly why: LendingWhy;
}

/** One accelerator changes hands: `from` gives it up for this reason, then `to` gets it. */
export interface Transfer {
  readonly accelerator: string;
  readonly from: LendingWhy | null;
  readonly to: Grant | null;
}

/** Reasons for which nobody is asked to release it: there is nobody, or nobody to be reached. */
const UNASKED: readonly LendingWhy[] = ['gone', 'away'];

/**
 * Carries out transfers of one group. Each intention is stored before its call, and each outcome after it. A call without a
 * definite outcome leaves its loan as `granting` or `releasing`: neither has the accelerator until it is settled.
 */
export class Exchange {
  constructor(
    private readonly desk: Desk,
    private readonly ledgers: LendingLedgers,
    private readonly members: LendingMembers,
    /** Whether what was decided before a release still holds after it. */
    private readonly isStillNext: (accelerator: string, vnf: string) => boolean,
    private readonly tell: (decision: Decision) => void,
  ) {}

  async transfer({ accelerator, from, to }: Transfer): Promise<void> {
    if (from) {
      await this.write({ ledger: this.with(accelerator, { state: 'releasing', why: from }) });
      await this.giveUp(accelerator, to);
    } else if (to) {
      await this.write({ ledger: withGrant(this.desk.ledger, accelerator, to) });
      await this.give(accelerator);
    }
  }

  /** A loan of which it is not known what became of the last call, and whose element manager answers. */
  async settle(loan: StoredLoan): Promise<void> {
    const { accelerator, state } = loan;
    if (state === 'releasing') await this.giveUp(accelerator, null);
    else if (this.members.by(accelerator).has(loan)) await this.confirm(accelerator);
    // It may still be on its way to accelerate.
    else if (await this.called(loan, false)) await this.drop(accelerator);
  }

  /** The holder runs no more, or cannot be reached and is not waited for: then it is asked as soon as it can be. */
  async end(accelerator: string, why: 'gone' | 'away'): Promise<void> {
    const { state } = this.desk.loanOf(accelerator)!;
    this.desk.ledger = this.with(accelerator, { state: 'releasing', why });
    if (state === 'granting') return this.drop(accelerator);
    await this.giveUp(accelerator, null);
  }

  /** One that was not waited for can be reached again. */
  async takeBack(holding: Holding): Promise<void> {
    if (!(await this.called(holding, false))) return;
    this.desk.succeeded(callOf(holding));
    await this.settleOwed(holding);
  }

  /** One that was not waited for has nothing. */
  settleOwed({ accelerator }: Holding): Promise<void> {
    const { ledger } = this.desk;
    return this.write({ ledger: { ...ledger, owed: ledger.owed.filter((each) => each.accelerator !== accelerator) } });
  }

  /** What uses the instructions of its server, which nobody lent it. */
  async turnBack({ id, nf, server }: Member): Promise<void> {
    const holding = { accelerator: acceleratorName({ kind: 'instructions', server }), vnf: id, nf, home: null };
    if (await this.called(holding, false)) this.desk.succeeded(id);
    this.desk.contradicted.forget(id);
  }

  private async giveUp(accelerator: string, to: Grant | null): Promise<void> {
    const beganMs = performance.now();
    const asked = this.desk.loanOf(accelerator)!;
    const { vnf, why } = asked;
    const isAsked = !UNASKED.includes(why);
    const isAwaited = to !== null || why === 'slice-over';
    if (isAwaited && !this.desk.handingOver.has(accelerator)) this.desk.handingOver.set(accelerator, beganMs);
    const isDone = !isAsked || (await this.called(asked, false));
    const tookMs = performance.now() - beganMs;
    if (!isDone) return;
    if (!isAsked) this.desk.handingOver.delete(accelerator);
    this.desk.succeeded(callOf(asked));
    const loan = this.desk.loanOf(accelerator)!;
    const rest = without(this.desk.ledger, accelerator);
    const next = to && tookMs <= PROMPT_MS && this.isStillNext(accelerator, to.vnf) ? to : null;
    if (!next && why === 'slice-over') this.desk.gaveWay.set(accelerator, vnf);
    const turn = loan.turn === null ? undefined : this.ledgers.turn(loan.turn);
    const to_ms = Date.now();
    const ended = turn && { ...turn, from_ms: begunMs(turn, loan, to_ms), to_ms, ended: loan.why };
    await this.write({
      ledger: next ? withGrant(rest, accelerator, next) : rest,
      turns: ended ? [ended] : [],
      events: [this.told('lending.released', loan, isAsked ? tookMs : null)],
    });
    if (next) await this.give(accelerator);
  }

  private async give(accelerator: string): Promise<void> {
    const loan = this.desk.loanOf(accelerator)!;
    const kind = this.members.by(accelerator);
    if (await this.called(loan, true)) await this.confirm(accelerator);
    else if (kind.isCertain && kind.has(loan) === false) await this.drop(accelerator);
  }

  private async confirm(accelerator: string): Promise<void> {
    const loan = this.desk.loanOf(accelerator)!;
    this.desk.succeeded(callOf(loan));
    const beganMs = this.desk.handingOver.get(accelerator);
    this.desk.handingOver.delete(accelerator);
    const switch_ms = beganMs === undefined ? null : performance.now() - beganMs;
    const nf = loan.nf ?? this.members.nfOf(loan.vnf);
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

  /** Whether it was done as asked. If not, what is done is not known, unless what is said of the accelerator is certain. */
  private async called(holding: Holding, accelerated: boolean): Promise<boolean> {
    const { signal } = this.desk;
    const { accelerator, vnf } = holding;
    try {
      await this.members.by(accelerator).switchTo(holding, accelerated, signal);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      const why = (error as Error).message;
      this.desk.failed(callOf(holding), performance.now(), why);
      const what = accelerated ? 'Could not grant' : 'Could not release';
      this.tell({ subject: this.groupId, what, why, inputs: { accelerator, vnf } });
      return false;
    }
  }

  private drop(accelerator: string): Promise<void> {
    return this.write({ ledger: without(this.desk.ledger, accelerator) });
  }

  /** What is decided next is based on it; if it cannot be stored, the desk is closed and the ledger read anew. */
  private async write(change: LedgerChange): Promise<void> {
    this.desk.signal.throwIfAborted();
    this.desk.ledger = change.ledger;
    await this.ledgers.write(change);
  }

  private get groupId(): string {
    return this.desk.ledger.group_id;
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
  idle: 'its usage fell',
  'slice-over': 'its slice is over and another one waits',
  gone: 'it runs no more',
  away: 'its server cannot be reached, and it may use it until it can',
  failed: 'the accelerator failed',
  disabled: 'it is no longer lent',
};

function withGrant(ledger: Ledger, accelerator: string, grant: Grant): Ledger {
  const { accounts, turns } = granted(
    stateOf(ledger, () => true),
    accelerator,
    grant.vnf,
  );
  const loan: StoredLoan = { accelerator, ...grant, held_ms: 0, state: 'granting', turn: null };
  return { ...ledger, accounts: { ...accounts }, turns, loans: [...ledger.loans, loan] };
}

/** Whoever is not waited for while it cannot be reached may still use it. */
function without(ledger: Ledger, accelerator: string): Ledger {
  const { loans } = released(
    stateOf(ledger, () => true),
    accelerator,
  );
  const isLeft = ({ accelerator: name }: StoredLoan) => loans.some((it) => it.accelerator === name);
  const unreached = ledger.loans.filter((loan) => !isLeft(loan) && loan.why === 'away');
  const owed = [...ledger.owed, ...unreached.map(({ vnf, nf, home }) => ({ accelerator, vnf, nf, home }))];
  return { ...ledger, loans: ledger.loans.filter(isLeft), owed };
}
