import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { acceleratorName, type LendingWhy } from '@orrery/contract';
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
import { Desk } from './desk.js';
import { Exchange, type Transfer } from './exchange.js';
import { LendingGroups, type StoredGroup } from './groups.js';
import { LendingLedgers, type StoredLoan, stateOf, withTimes } from './ledger.js';
import { LendingMembers, type Member } from './members.js';

const TICK_MS = 500;
const DEADLINE_MS = 30_000;
/** How often times are stored; a kill of the server loses at most these. */
const STORE_MS = 5000;
/** A report may be older than the call whose outcome it contradicts. */
const DOUBT_MS = 2000;

/** SSM (II.B): lends accelerators to VNFs in turn, by their measured usage. */
@Injectable()
export class LendingLoop implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly desks = new Map<string, Desk>();
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

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  get isPaused(): boolean {
    return this.loop.status().paused;
  }

  /** Null: it has not run since the server started. */
  deskOf(groupId: string): Desk | null {
    return this.desks.get(groupId) ?? null;
  }

  private async runOnce(run: LoopRun): Promise<RunOutcome | undefined> {
    const { key, step } = run;
    const desk = this.desks.get(key) ?? new Desk(await step(this.ledgers.read(key)));
    this.desks.set(key, desk);
    try {
      const group = this.groups.find(key);
      if (group || desk.ledger.loans.length > 0) {
        await step(this.tick(desk, group, run));
        return undefined;
      }
      await step(this.ledgers.forget(key));
      this.desks.delete(key);
      return { again: 'done' };
    } catch (error) {
      // The stored ledger may differ from the one in memory.
      this.desks.delete(key);
      throw error;
    }
  }

  private async tick(desk: Desk, group: StoredGroup | undefined, run: LoopRun): Promise<void> {
    const exchange = new Exchange(run.key, desk, this.ledgers, this.members, run);
    await all(desk.ledger.loans.filter(({ state }) => state !== 'held').map((loan) => exchange.settle(loan)));
    const nowMs = performance.now();
    const elapsedMs = desk.tickMs === null ? 0 : nowMs - desk.tickMs;
    desk.tickMs = nowMs;
    const holding = new Set(desk.ledger.loans.map(({ vnf }) => vnf));
    const members = group ? this.members.of(group, holding, nowMs) : [];
    desk.keepOnly(new Set([...members.map(({ id }) => id), ...holding]));
    const settings = group && settingsOf(group);
    const vnfs = members.map((member) => asVnf(member, desk, nowMs));
    const state = stateOf(desk.ledger, (loan) => this.isSettled(loan));
    const wants = (vnf: Vnf) =>
      settings !== undefined && group!.enabled && LENDING_STRATEGIES[settings.strategy].wants(vnf, settings);
    desk.ledger = withTimes(desk.ledger, elapse(state, vnfs, elapsedMs, wants));
    const transfers =
      group?.enabled && settings ? this.due(desk, group, settings, members, vnfs, nowMs) : this.allBack(desk);
    await all(transfers.map((transfer) => exchange.transfer(transfer)));
    if (group?.enabled) await this.takeStock(desk, group, members, exchange, nowMs);
    if (transfers.length > 0) desk.storedMs = nowMs;
    else if (nowMs - desk.storedMs >= STORE_MS && desk.ledger.loans.length > 0) {
      run.signal.throwIfAborted();
      await this.ledgers.write({ ledger: desk.ledger });
      desk.storedMs = nowMs;
    }
  }

  /** A holder of which nothing is heard may still have it. */
  private isSettled({ vnf, state }: StoredLoan): boolean {
    return state === 'held' && (this.members.isHeard(vnf) || this.members.isGone(vnf));
  }

  private due(
    desk: Desk,
    group: StoredGroup,
    settings: LendingSettings,
    members: readonly Member[],
    vnfs: readonly Vnf[],
    nowMs: number,
  ): Transfer[] {
    const names = group.accelerators.map(acceleratorName);
    const lost = desk.ledger.loans.filter(({ vnf, state }) => {
      const isContradicted = state === 'held' && this.members.stateOf(vnf)?.accelerated === false;
      return desk.isInDoubtFor(vnf, isContradicted, nowMs, DOUBT_MS);
    });
    const accelerators = group.accelerators.map((each) => {
      const id = acceleratorName(each);
      const isElsewhere = this.leases.conflictOf({
        claim: 'lend',
        holder: group.id,
        resources: [acceleratorResource(id)],
      });
      const works = this.members.answers(each) && !isElsewhere && !lost.some(({ accelerator }) => accelerator === id);
      return { id, works };
    });
    // One that is used without a loan is not free.
    const taken = members.filter(
      ({ id, state }) => state?.accelerated && !desk.ledger.loans.some(({ vnf }) => vnf === id),
    );
    const usable = accelerators.map((each) => ({
      ...each,
      works: each.works && (desk.loanOf(each.id) !== undefined || !taken.some(({ can }) => can.includes(each.id))),
    }));
    const why = settings.strategy === 'round-robin' ? 'turn' : 'overload';
    const state = stateOf(desk.ledger, (loan) => this.isSettled(loan));
    return decideLending(state, vnfs, usable, settings).map(({ accelerator, from, to }) => ({
      accelerator,
      from: from && this.whyReleased(from, names.includes(accelerator)),
      to: to === null ? null : { vnf: to, why },
    }));
  }

  /** What the planner misses may only be of the group no longer. */
  private whyReleased({ vnf, why }: NonNullable<Handover['from']>, isOfGroup: boolean): LendingWhy {
    if (why === 'failed') return isOfGroup ? 'failed' : 'disabled';
    if (why === 'gone') return this.members.isGone(vnf) ? 'gone' : 'disabled';
    return why;
  }

  private allBack({ ledger }: Desk): Transfer[] {
    return ledger.loans
      .filter(({ state }) => state === 'held')
      .map(({ accelerator, vnf }) => ({
        accelerator,
        from: this.members.isGone(vnf) ? 'gone' : 'disabled',
        to: null,
      }));
  }

  /** VNFs that are accelerated without a loan: the first takes part as a holder, others go back to software. */
  private async takeStock(
    desk: Desk,
    group: StoredGroup,
    members: readonly Member[],
    exchange: Exchange,
    nowMs: number,
  ): Promise<void> {
    for (const { id, state, can } of members) {
      if (desk.ledger.loans.some(({ vnf }) => vnf === id)) continue;
      if (!desk.isInDoubtFor(id, state?.accelerated === true, nowMs, DOUBT_MS) || !desk.mayCall(id, nowMs)) continue;
      const free = can.find((each) => !desk.loanOf(each) && !this.isLentElsewhere(group, each));
      if (free !== undefined) await exchange.adopt(free, id);
      else if (can.length > 0) await exchange.turnBack(id);
    }
  }

  private isLentElsewhere({ id }: StoredGroup, accelerator: string): boolean {
    const resources = [acceleratorResource(accelerator)];
    return this.leases.conflictOf({ claim: 'lend', holder: id, resources }) !== null;
  }
}

function settingsOf({ strategy, th_up, th_low, slice_s }: StoredGroup): LendingSettings {
  return { strategy, th_up, th_low, slice_ms: slice_s * 1000 };
}

function asVnf({ id, usage, can }: Member, desk: Desk, nowMs: number): Vnf {
  return { id, usage, can: desk.mayCall(id, nowMs) ? can : [] };
}

/** Fails with the first failure once all are over. */
async function all(work: readonly Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(work);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}
