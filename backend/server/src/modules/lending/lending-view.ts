import { Inject, Injectable } from '@nestjs/common';
import {
  acceleratorName,
  type LendingGroup,
  type LendingTurn,
  type LentNow,
  serverOfAccelerator,
} from '@orrery/contract';
import { jainIndex, switchOverhead } from '@orrery/planner';
import { median } from '../../platform/median.js';
import { LendingGroups, type StoredGroup } from './groups.js';
import { emptyLedger, type Ledger, LendingLedgers } from './ledger.js';
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
    const ledger = this.loop.deskOf(group.id)?.ledger ?? this.ledgers.find(group.id) ?? emptyLedger(group.id);
    const holding = new Set(ledger.loans.map(({ vnf }) => vnf));
    const members = this.members.of(group, holding, performance.now());
    const switches = switchesOf(this.ledgers.turnsOf(group.id));
    const switch_ms = switches.length > 0 ? median(switches) : null;
    return {
      ...group,
      revision: this.groups.revisionOf(group.id),
      state: this.stateOf(group, members),
      accelerators_now: this.lentNow(group, ledger, members),
      members: members.map((member) => described(member, ledger)),
      fairness: fairnessOf(members, ledger),
      switch_ms,
      switches: switches.length,
      turns_dropped: this.ledgers.find(group.id)?.dropped ?? 0,
      overhead: switch_ms === null ? null : switchOverhead(switch_ms, group.slice_s * 1000),
    };
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
    const users = this.members.users();
    return [...names].map((name) => {
      const loan = loans.find(({ accelerator }) => accelerator === name);
      const owing = loan ? null : this.ledgers.owedBy(name);
      if (owing !== null)
        return { accelerator: name, state: desk?.isBusy(name) ? 'releasing' : 'unknown', holder: owing, held_s: null };
      const user = loan ? undefined : users.get(serverOfAccelerator(name));
      if (user !== undefined) return { accelerator: name, state: 'used', holder: user, held_s: null };
      if (!loan) {
        const there = members.filter(({ server }) => server === serverOfAccelerator(name));
        const isLacking = there.length > 0 && there.every(lacks);
        const state = !this.members.answers(name) ? 'away' : isLacking ? 'lacking' : 'free';
        return { accelerator: name, state, holder: null, held_s: null };
      }
      const isKnown = loan.state === 'held' ? this.members.isHeard(loan) : desk?.isBusy(name);
      return {
        accelerator: name,
        state: isKnown ? loan.state : 'unknown',
        holder: loan.vnf,
        held_s: loan.state === 'held' ? loan.held_ms / 1000 : null,
      };
    });
  }
}

/** Whether it says that the processor of its server lacks what it needs. */
function lacks({ state }: Member): boolean {
  return state !== null && state.kinds.length === 0;
}

function described(member: Member, ledger: Ledger): LendingGroup['members'][number] {
  const { id, nf, server, origin, usage, state } = member;
  const { time_ms = 0, held_ms = 0, waited_ms = 0 } = ledger.accounts[id] ?? {};
  const loan = ledger.loans.find((each) => each.vnf === id && each.state === 'held');
  return {
    instance_id: id,
    ...nf,
    server,
    origin,
    usage,
    cpu_share: state?.cpu_share ?? null,
    cpu_limit: state?.cpu_limit ?? null,
    bps: state?.bps ?? null,
    accelerated: state?.accelerated ?? null,
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
