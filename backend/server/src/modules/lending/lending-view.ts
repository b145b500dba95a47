import { Inject, Injectable } from '@nestjs/common';
import { acceleratorName, acceleratorNamed, type LendingGroup, type LendingTurn, type LentNow } from '@orrery/contract';
import { jainIndex, switchOverhead } from '@orrery/planner';
import { median } from '../../platform/median.js';
import { callOf, type Desk } from './desk.js';
import { LendingGroups, type StoredGroup } from './groups.js';
import { begunMs, emptyLedger, type Ledger, LendingLedgers } from './ledger.js';
import { LendingLoop } from './lending-loop.js';
import { LendingMembers, type Member } from './members.js';

/** As many of the latest hand-overs count. */
const SWITCHES = 20;

/** Groups with who holds what now, and how fair that has been. */
@Injectable()
export class LendingView {
  constructor(
    @Inject(LendingGroups) private readonly groups: LendingGroups,
    @Inject(LendingLedgers) private readonly ledgers: LendingLedgers,
    @Inject(LendingMembers) private readonly members: LendingMembers,
    @Inject(LendingLoop) private readonly loop: LendingLoop,
  ) {}

  describe(group: StoredGroup): LendingGroup {
    const ledger = this.ledgerOf(group.id);
    const members = this.members.of(group, ledger, performance.now());
    const desk = this.loop.deskOf(group.id);
    const switches = switchesOf(this.ledgers.turnsOf(group.id));
    const switch_ms = switches.length > 0 ? median(switches) : null;
    return {
      ...group,
      revision: this.groups.revisionOf(group.id),
      state: this.stateOf(group, members),
      accelerators_now: this.lentNow(group, ledger, members),
      members: members.map((member) => ({
        ...described(member, ledger),
        waits_for: this.hindranceOf(member, ledger, desk),
      })),
      fairness: fairnessOf(members, ledger),
      switch_ms,
      switches: switches.length,
      turns_dropped: this.ledgers.find(group.id)?.dropped ?? 0,
      overhead: switch_ms === null ? null : switchOverhead(switch_ms, group.slice_s * 1000),
    };
  }

  /** Newest first. */
  turnsOf(groupId: string): LendingTurn[] {
    const { loans } = this.ledgerOf(groupId);
    const nowMs = Date.now();
    return this.ledgers.turnsOf(groupId).map((turn) => {
      const loan = turn.to_ms === null ? loans.find((each) => each.turn === turn.id) : undefined;
      return loan ? { ...turn, from_ms: begunMs(turn, loan, nowMs) } : turn;
    });
  }

  private ledgerOf(groupId: string): Ledger {
    return this.loop.deskOf(groupId)?.ledger ?? this.ledgers.find(groupId) ?? emptyLedger(groupId);
  }

  private stateOf({ enabled }: StoredGroup, members: readonly Member[]): LendingGroup['state'] {
    if (!enabled) return 'disabled';
    if (this.loop.isPaused) return 'paused';
    return members.length > 0 ? 'lending' : 'without-vnfs';
  }

  /** Accelerators of the group, and those that are being taken back after they were taken out of it. */
  private lentNow({ id, accelerators }: StoredGroup, { loans, owed }: Ledger, members: readonly Member[]): LentNow[] {
    const desk = this.loop.deskOf(id);
    const taken = [...loans, ...owed].map(({ accelerator }) => accelerator);
    const names = new Set([...accelerators.map(acceleratorName), ...taken]);
    return [...names].map((name) => {
      const kind = this.members.by(name);
      const told = (state: LentNow['state'], holder: string | null, held_s: number | null = null): LentNow => ({
        accelerator: name,
        state,
        holder,
        held_s,
        origin: kind.originOf(name),
      });
      const loan = loans.find(({ accelerator }) => accelerator === name);
      const owing = loan ? null : this.ledgers.owedBy(name);
      if (owing !== null) return told(desk?.isBusy(name) ? 'releasing' : 'unknown', owing);
      const user = loan ? null : kind.userOf(name);
      if (user !== null) return told('used', user);
      if (!loan) {
        const isLacking = isLackingFor(name, members);
        const isThere = kind.works(name) ? (isLacking ? 'lacking' : 'free') : 'broken';
        return told(kind.answers(name) ? isThere : 'away', null);
      }
      const isKnown = loan.state === 'held' ? kind.isHeard(loan) : desk?.isBusy(name);
      return told(isKnown ? loan.state : 'unknown', loan.vnf, loan.state === 'held' ? loan.held_ms / 1000 : null);
    });
  }

  /** Why a VNF that wants a slot, or is to give it back, cannot be moved now. */
  private hindranceOf({ id, nf, fits }: Member, { loans }: Ledger, desk: Desk | null): string | null {
    const isSlot = (name: string) => acceleratorNamed(name).kind === 'slot';
    const loan = loans.find(({ vnf }) => vnf === id);
    const names = loan ? [loan.accelerator] : fits;
    const reasons = names.filter(isSlot).map((name) => {
      const failed = desk?.whyFailed(callOf({ accelerator: name, vnf: id })) ?? null;
      return failed ?? (loan ? null : this.members.by(name).hindrance(name, nf));
    });
    return reasons.includes(null) ? null : (reasons[0]?.slice(0, 300) ?? null);
  }
}

/** Whether nobody can use it: the VNFs of its server lack what they need, or no VNF can run in the slot. */
function isLackingFor(name: string, members: readonly Member[]): boolean {
  const named = acceleratorNamed(name);
  if (named.kind === 'slot') return members.length > 0 && members.every(({ fits }) => !fits.includes(name));
  const there = members.filter(({ server, slot }) => slot === null && server === named.server);
  return there.length > 0 && there.every(hasNoInstructions);
}

/** Whether its element manager says that the processor of its server lacks what it needs. */
function hasNoInstructions({ state }: Member): boolean {
  return state !== null && state.kinds.length === 0;
}

/** Whether it can use nothing of the group. */
function lacks(member: Member): boolean {
  return hasNoInstructions(member) && member.fits.length === 0;
}

function described(member: Member, ledger: Ledger): Omit<LendingGroup['members'][number], 'waits_for'> {
  const { id, nf, server, slot, origin, usage, cpu_share, cpu_limit, bps, accelerated } = member;
  const { time_ms = 0, held_ms = 0, waited_ms = 0 } = ledger.accounts[id] ?? {};
  const loan = ledger.loans.find((each) => each.vnf === id && each.state === 'held');
  return {
    instance_id: id,
    ...nf,
    server,
    slot,
    origin,
    usage,
    cpu_share,
    cpu_limit,
    bps,
    accelerated,
    lacks: lacks(member),
    accelerator: loan?.accelerator ?? null,
    time_s: time_ms / 1000,
    held_s: held_ms / 1000,
    waited_s: waited_ms / 1000,
  };
}

/** Of one VNF alone there is nothing to be said. */
function fairnessOf(members: readonly Member[], { accounts }: Ledger): number | null {
  const wanted = members
    .flatMap(({ id }) => accounts[id] ?? [])
    .filter(({ held_ms, waited_ms }) => held_ms + waited_ms > 0);
  return wanted.length > 1 ? jainIndex(wanted.map(({ held_ms }) => held_ms)) : null;
}

/** Times of the latest whole hand-overs. */
function switchesOf(turns: readonly LendingTurn[]): number[] {
  return turns.flatMap(({ switch_ms }) => switch_ms ?? []).slice(0, SWITCHES);
}
