import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { acceleratorName, acceleratorNamed, type LendingWhy } from '@orrery/contract';
import {
  decideLending,
  elapse,
  type Handover,
  LENDING_STRATEGIES,
  type LendingSettings,
  type Vnf,
} from '@orrery/planner';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { LoopRun, RunOutcome } from '../../platform/control-loop/definition.js';
import { acceleratorResource, LEASES, type LeaseBook } from '../../ports/lease-book.js';
import { callOf, Desk, nameOf } from './desk.js';
import { Exchange, type Transfer } from './exchange.js';
import { LendingGroups, type StoredGroup } from './groups.js';
import { type Holding, type Ledger, LendingLedgers, type StoredLoan, stateOf, withTimes } from './ledger.js';
import { LendingMembers, type Member } from './members.js';

const TICK_MS = 500;
const DEADLINE_MS = 30_000;
/** How often times are stored; a kill of the server loses at most these. */
const STORE_MS = 5000;
/** A report may be older than the call whose outcome it contradicts. */
const DOUBT_MS = 2000;
/** What is no longer lent is waited for this long while its server is away; then it is taken back when it can be. */
const AWAY_MS = 20_000;

/** A group at work. */
interface Counter {
  readonly desk: Desk;
  readonly exchange: Exchange;
}

/**
 * SSM (II.B): lends accelerators to VNFs in turn, by their measured usage. A run decides and begins; calls of element managers
 * go on beside it, so that one without an answer delays its own accelerator only.
 */
@Injectable()
export class LendingLoop implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly counters = new Map<string, Counter>();
  private readonly loop: ControlLoop;

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(LEASES) private readonly leases: LeaseBook,
    @Inject(LendingGroups) private readonly groups: LendingGroups,
    @Inject(LendingLedgers) private readonly ledgers: LendingLedgers,
    @Inject(LendingMembers) private readonly members: LendingMembers,
  ) {
    this.loop = loops.add({
      id: 'lending',
      title: 'Lending of accelerators',
      purpose: 'Lends accelerators to overloaded VNFs in turn; while it is paused, holders keep theirs.',
      tickMs: TICK_MS,
      backoff: { firstMs: TICK_MS, mostMs: 10_000 },
      deadlineMs: DEADLINE_MS,
      run: (run) => this.runOnce(run),
    });
  }

  onApplicationBootstrap(): void {
    this.groups.onChange((id) => this.loop.wake(id));
    for (const id of new Set([...this.groups.all().map((group) => group.id), ...this.ledgers.groupIds()]))
      this.loop.wake(id);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
    const desks = [...this.counters.values()].map(({ desk }) => desk);
    for (const desk of desks) desk.close(new Error('the server stops'));
    await Promise.all(desks.map((desk) => desk.ended()));
  }

  get isPaused(): boolean {
    return this.loop.status().paused;
  }

  /** Null: it has not run since the server started. */
  deskOf(groupId: string): Desk | null {
    return this.counters.get(groupId)?.desk ?? null;
  }

  private async runOnce(run: LoopRun): Promise<RunOutcome | undefined> {
    const { key, step } = run;
    const { desk, exchange } = await this.counterOf(run);
    try {
      desk.signal.throwIfAborted();
      const group = this.groups.find(key);
      const { loans, owed } = desk.ledger;
      if (group || loans.length + owed.length + desk.underWay.length > 0) {
        await step(this.tick(desk, exchange, group, run));
        return undefined;
      }
      await step(this.ledgers.forget(key));
      this.counters.delete(key);
      return { again: 'done' };
    } catch (error) {
      // The stored ledger may differ from the one in memory.
      desk.close(error as Error);
      this.counters.delete(key);
      throw error;
    }
  }

  private async counterOf({ key, step, decide }: LoopRun): Promise<Counter> {
    const known = this.counters.get(key);
    if (known) return known;
    const desk = new Desk(await step(this.ledgers.read(key)));
    const isStillNext = (accelerator: string, vnf: string) => this.isStillNext(desk, accelerator, vnf);
    const exchange = new Exchange(desk, this.ledgers, this.members, isStillNext, decide);
    this.counters.set(key, { desk, exchange });
    return { desk, exchange };
  }

  private async tick(desk: Desk, exchange: Exchange, group: StoredGroup | undefined, run: LoopRun): Promise<void> {
    const nowMs = performance.now();
    for (const loan of desk.ledger.loans) {
      const work = desk.isBusy(loan.accelerator) ? null : this.settlement(desk, exchange, group, loan, nowMs);
      if (work) desk.begin(loan.accelerator, work);
    }
    for (const holding of desk.ledger.owed) {
      const work = desk.isBusy(holding.accelerator) ? null : this.returnOf(desk, exchange, holding, nowMs);
      if (work) desk.begin(holding.accelerator, work);
    }
    const elapsedMs = desk.tickMs === null ? 0 : nowMs - desk.tickMs;
    desk.tickMs = nowMs;
    const members = group ? this.membersOf(desk, group, nowMs) : [];
    desk.keepOnly(members.map(({ id }) => id));
    const settings = group && settingsOf(group);
    const works = this.works();
    const vnfs = members.map((member) => this.asVnf(member, desk, nowMs, works));
    const state = stateOf(desk.ledger, (loan) => this.isSettled(desk, loan));
    const wants = (vnf: Vnf) =>
      settings !== undefined && group!.enabled && LENDING_STRATEGIES[settings.strategy].wants(vnf, settings);
    desk.ledger = withTimes(desk.ledger, elapse(state, vnfs, elapsedMs, wants));
    const transfers = group?.enabled && settings ? this.due(desk, group, settings, members, nowMs) : this.allBack(desk);
    for (const transfer of transfers) desk.begin(transfer.accelerator, () => exchange.transfer(transfer));
    if (group?.enabled)
      for (const member of this.unlent(desk, members, nowMs)) desk.begin(member.id, () => exchange.turnBack(member));
    if (transfers.length > 0) desk.storedMs = nowMs;
    else if (nowMs - desk.storedMs >= STORE_MS && desk.ledger.loans.length > 0) {
      run.signal.throwIfAborted();
      await this.ledgers.write({ ledger: desk.ledger });
      desk.storedMs = nowMs;
    }
  }

  /** What is to be done first about a loan; null: nothing, or nothing now. */
  private settlement(
    desk: Desk,
    exchange: Exchange,
    group: StoredGroup | undefined,
    loan: StoredLoan,
    nowMs: number,
  ): (() => Promise<void>) | null {
    const { accelerator, state } = loan;
    const kind = this.members.by(accelerator);
    if (this.isGone(desk, loan, nowMs)) return () => exchange.end(accelerator, 'gone');
    const awayMs = desk.away.note(accelerator, !kind.answers(accelerator), nowMs);
    const isLent = group?.enabled && group.accelerators.some((each) => acceleratorName(each) === accelerator);
    const isAwaited = isLent && kind.isPlannedFor(loan);
    if (!isAwaited && awayMs !== null && awayMs >= AWAY_MS) return () => exchange.end(accelerator, 'away');
    if (state === 'held' || !kind.isHeard(loan) || !desk.mayCall(callOf(loan), nowMs)) return null;
    return () => exchange.settle(loan);
  }

  /** What is to be done about one that was not waited for; null: nothing can be done now. */
  private returnOf(desk: Desk, exchange: Exchange, holding: Holding, nowMs: number): (() => Promise<void>) | null {
    if (this.isGone(desk, holding, nowMs)) return () => exchange.settleOwed(holding);
    const isHeard = this.members.by(holding.accelerator).isHeard(holding);
    if (!isHeard || !desk.mayCall(callOf(holding), nowMs)) return null;
    return () => exchange.takeBack(holding);
  }

  /** Whether a holder runs no more, so that it has nothing. A report may be older than its start. */
  private isGone(desk: Desk, holding: Holding, nowMs: number): boolean {
    const kind = this.members.by(holding.accelerator);
    const stoppedMs = desk.stopped.note(nameOf(holding), kind.isStopped(holding), nowMs);
    if (stoppedMs === null) return false;
    return stoppedMs >= DOUBT_MS || !kind.isPlannedFor(holding);
  }

  private membersOf(desk: Desk, group: StoredGroup, nowMs: number): Member[] {
    return this.members.of(group, desk.ledger, nowMs);
  }

  /** A holder of which nothing is heard may still have it. */
  private isSettled(desk: Desk, loan: StoredLoan): boolean {
    const { accelerator, state } = loan;
    return state === 'held' && !desk.isBusy(accelerator) && this.members.by(accelerator).isHeard(loan);
  }

  private due(
    desk: Desk,
    group: StoredGroup,
    settings: LendingSettings,
    members: readonly Member[],
    nowMs: number,
  ): Transfer[] {
    const names = group.accelerators.map(acceleratorName);
    const lost = desk.ledger.loans.filter((loan) => {
      const kind = this.members.by(loan.accelerator);
      const isToHold = loan.state === 'held' && kind.isHeard(loan);
      const isContradicted = isToHold && kind.has(loan) === false;
      return (desk.contradicted.note(nameOf(loan), isContradicted, nowMs) ?? 0) >= DOUBT_MS;
    });
    const passed = new Map<string, string>();
    const accelerators = names.map((id) => {
      const kind = this.members.by(id);
      // One that is used without a loan is not free.
      const isFree = !desk.isBusy(id) && kind.userOf(id) === null && kind.works(id);
      const works =
        (desk.loanOf(id) !== undefined || isFree) &&
        kind.answers(id) &&
        this.ledgers.owedBy(id) === null &&
        !this.isLentElsewhere(group, id) &&
        !lost.some(({ accelerator }) => accelerator === id);
      const gaveWay = desk.gaveWay.get(id);
      if (works && gaveWay !== undefined && !desk.isBusy(id)) {
        passed.set(gaveWay, id);
        desk.gaveWay.delete(id);
      }
      return { id, works };
    });
    const works = this.works();
    const vnfs = members.map((member) => this.asVnf(member, desk, nowMs, works));
    const asking = vnfs.map((vnf) => ({ ...vnf, can: vnf.can.filter((id) => passed.get(vnf.id) !== id) }));
    const why = settings.strategy === 'round-robin' ? 'turn' : 'overload';
    const state = stateOf(desk.ledger, (loan) => this.isSettled(desk, loan));
    const decided = decideLending(state, asking, accelerators, settings);
    // What nobody takes now is free: the next one that gets it is not handed it over.
    const taken = [...desk.ledger.loans, ...decided].map(({ accelerator }) => accelerator);
    for (const { id, works } of accelerators) if (works && !taken.includes(id)) desk.handingOver.delete(id);
    return decided.map(({ accelerator, from, to }) => ({
      accelerator,
      from: from && whyReleased(from, names.includes(accelerator)),
      to: to === null ? null : { vnf: to, why, ...placeOf(members, to, accelerator) },
    }));
  }

  private isStillNext(desk: Desk, accelerator: string, vnf: string): boolean {
    const nowMs = performance.now();
    const group = this.groups.find(desk.ledger.group_id);
    if (!group?.enabled || desk.ledger.loans.some((loan) => loan.vnf === vnf)) return false;
    const member = this.membersOf(desk, group, nowMs).find(({ id }) => id === vnf);
    const asking = member && this.asVnf(member, desk, nowMs);
    const settings = settingsOf(group);
    return asking?.can.includes(accelerator) === true && LENDING_STRATEGIES[settings.strategy].wants(asking, settings);
  }

  private allBack(desk: Desk): Transfer[] {
    desk.gaveWay.clear();
    desk.handingOver.clear();
    return desk.ledger.loans
      .filter((loan) => this.isSettled(desk, loan))
      .map(({ accelerator }) => ({ accelerator, from: 'disabled', to: null }));
  }

  /**
   * VNFs that are accelerated without a loan: all begin in software. Reports of those that were switched since they started may
   * be older than the last call.
   */
  private unlent(desk: Desk, members: readonly Member[], nowMs: number): Member[] {
    return members
      .filter((member) => !isLentThere(desk.ledger, member))
      .filter(({ id, state }) => {
        const forMs = desk.contradicted.note(id, state?.accelerated === true, nowMs);
        const isCertain = forMs !== null && (forMs >= DOUBT_MS || state?.switched_ms === null);
        return isCertain && desk.mayCall(id, nowMs) && !desk.isBusy(id);
      });
  }

  /** What cannot be carried out now waits. */
  private asVnf({ id, nf, usage, can }: Member, desk: Desk, nowMs: number, works = this.works()): Vnf {
    if (!desk.mayCall(id, nowMs) || desk.isBusy(id)) return { id, usage, can: [] };
    const isOpen = (accelerator: string) => {
      const mayCall = desk.mayCall(callOf({ accelerator, vnf: id }), nowMs);
      return mayCall && works(accelerator) && this.members.by(accelerator).hindrance(accelerator, nf) === null;
    };
    return { id, usage, can: can.filter(isOpen) };
  }

  /** Whether accelerators work, asked once of each: of a slot it takes a look at every board. */
  private works(): (accelerator: string) => boolean {
    const known = new Map<string, boolean>();
    return (accelerator) => {
      const works = known.get(accelerator) ?? this.members.by(accelerator).works(accelerator);
      known.set(accelerator, works);
      return works;
    };
  }

  private isLentElsewhere({ id }: StoredGroup, accelerator: string): boolean {
    const resources = [acceleratorResource(accelerator)];
    return this.leases.conflictOf({ claim: 'lend', holder: id, resources }) !== null;
  }
}

/** What the planner misses is only of the group no longer. */
function whyReleased({ why }: NonNullable<Handover['from']>, isOfGroup: boolean): LendingWhy {
  if (why === 'failed') return isOfGroup ? 'failed' : 'disabled';
  return why === 'gone' ? 'disabled' : why;
}

/** Whether it was lent the instructions of the server on which it is planned now. */
function isLentThere({ loans, owed }: Ledger, { id, server }: Member): boolean {
  const there = acceleratorName({ kind: 'instructions', server });
  return [...loans, ...owed].some(({ vnf, accelerator }) => vnf === id && accelerator === there);
}

/** Of which NF a VNF is, and where it is to come back to from a slot. */
function placeOf(members: readonly Member[], vnf: string, accelerator: string): Pick<Holding, 'nf' | 'home'> {
  const { nf = null, home = null } = members.find(({ id }) => id === vnf) ?? {};
  return { nf, home: acceleratorNamed(accelerator).kind === 'slot' ? home : null };
}

function settingsOf({ strategy, th_up, th_low, slice_s }: StoredGroup): LendingSettings {
  return { strategy, th_up, th_low, slice_ms: slice_s * 1000 };
}
