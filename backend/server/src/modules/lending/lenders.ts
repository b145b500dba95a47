import { Inject, Injectable } from '@nestjs/common';
import {
  acceleratorName,
  type Instance,
  type NfMove,
  type NfRef,
  nfInstances,
  type Plan,
  type SlotRef,
} from '@orrery/contract';
import { conflict } from '../../platform/problem.js';
import { BOARDS, type BoardView } from '../../ports/board-view.js';
import { EXCLUSIONS, type Exclusions } from '../../ports/exclusions.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { acceleratorResource, LEASES, type LeaseBook } from '../../ports/lease-book.js';
import type { Lenders } from '../../ports/lenders.js';
import { belongs, LendingGroups, type StoredGroup } from './groups.js';
import { LendingLedgers } from './ledger.js';

/** What groups lend is switched by nobody else, and given to nobody else. */
@Injectable()
export class LendingRights implements Lenders {
  constructor(
    @Inject(LendingGroups) private readonly groups: LendingGroups,
    @Inject(LendingLedgers) private readonly ledgers: LendingLedgers,
    @Inject(LEASES) private readonly leases: LeaseBook,
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(EXCLUSIONS) private readonly exclusions: Exclusions,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
  ) {}

  requireFree(instance: Instance, accelerated: boolean): void {
    const group = this.groups.all().find((it) => it.enabled && belongs(it, instance));
    if (group)
      throw conflict(
        `The lending group "${group.title}" decides when ${instance.id} uses an accelerator; take it out of the group, or disable that.`,
      );
    if (!accelerated) return;
    const name = acceleratorName({ kind: 'instructions', server: instance.server });
    const lends = this.lenderOf(name);
    if (lends)
      throw conflict(
        `The lending group "${lends.title}" decides who uses ${name}; take it out of the group, or disable that.`,
      );
    const lease = this.leases.find('lend', acceleratorResource(name));
    if (lease)
      throw conflict(
        `The lending group "${this.titleOf(lease.holder)}" has lent ${name} to another NF; wait for its end.`,
      );
    const owing = this.ledgers.owedBy(name);
    if (owing !== null)
      throw conflict(`${owing}, which was lent ${name}, may still use it; wait until its agent has taken it back.`);
  }

  isLent({ board, chain_id, node_id }: Instance): boolean {
    return board !== undefined && isSame(this.ledgers.loanOf(nameOf(board))?.nf ?? null, { chain_id, node_id });
  }

  refusalOf(before: Plan | null, plan: Plan): string | null {
    const [were, are] = [usersOf(before), usersOf(plan)];
    for (const name of new Set([...were.keys(), ...are.keys()])) {
      const was = were.get(name) ?? null;
      const is = are.get(name) ?? null;
      if (isSame(was, is)) continue;
      const runsOn = was !== null && nfInstances(plan.graph).some((it) => isSame(it, was));
      const why = (is && this.whyNotInto(name, is)) ?? (runsOn ? this.whyNotOutOf(name, was) : null);
      if (why !== null) return why;
    }
    return null;
  }

  refusalOfMoves(moves: readonly NfMove[]): string | null {
    for (const move of moves) {
      const { from, to } = move;
      const into = to.on === 'board' && to.slot ? this.whyNotInto(nameOf(to.slot), move) : null;
      const why = into ?? (from.on === 'board' && from.slot ? this.whyNotOutOf(nameOf(from.slot), move) : null);
      if (why !== null) return why;
    }
    return null;
  }

  private whyNotInto(name: string, nf: NfRef): string | null {
    const loan = this.ledgers.loanOf(name);
    if (loan) {
      if (isSame(loan.nf, nf)) return null;
      const title = this.titleOf(this.leases.find('lend', acceleratorResource(name))?.holder ?? '');
      return `The lending group "${title}" has lent ${name} to ${loan.vnf}; wait for its end.`;
    }
    const lends = this.lenderOf(name);
    return lends
      ? `The lending group "${lends.title}" decides who uses ${name}; take it out of the group, or disable that.`
      : null;
  }

  private whyNotOutOf(name: string, nf: NfRef): string | null {
    const loan = this.ledgers.loanOf(name);
    if (loan?.state !== 'held' || !isSame(loan.nf, nf) || this.isLost(name)) return null;
    const title = this.titleOf(this.leases.find('lend', acceleratorResource(name))?.holder ?? '');
    return `The lending group "${title}" has lent ${name} to ${loan.vnf}; take either out of the group, or disable that.`;
  }

  /** Whether its user must leave it. */
  private isLost(name: string): boolean {
    if (this.boards.broken().some((slot) => nameOf(slot) === name)) return true;
    const { servers, lost_servers, boards } = this.exclusions;
    const out = [...servers, ...lost_servers];
    const { boards: declared } = this.infrastructure.current.infrastructure;
    const board = declared.find(({ id, slots }) =>
      Array.from({ length: slots }, (_, slot) => nameOf({ board: id, slot })).includes(name),
    );
    return !board || boards.includes(board.id) || out.includes(board.server);
  }

  private lenderOf(name: string): StoredGroup | undefined {
    return this.groups.all().find((it) => it.enabled && it.accelerators.map(acceleratorName).includes(name));
  }

  private titleOf(groupId: string): string {
    return this.groups.find(groupId)?.title ?? groupId;
  }
}

function nameOf({ board, slot }: SlotRef): string {
  return acceleratorName({ kind: 'slot', board, slot });
}

/** What is in which slot. */
function usersOf(plan: Plan | null): Map<string, NfRef> {
  const users = nfInstances(plan?.graph).flatMap(({ board, chain_id, node_id }) =>
    board ? [[nameOf(board), { chain_id, node_id }] as const] : [],
  );
  return new Map(users);
}

function isSame(one: NfRef | null, other: NfRef | null): boolean {
  return one?.chain_id === other?.chain_id && one?.node_id === other?.node_id;
}
