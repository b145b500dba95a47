import { Inject, Injectable } from '@nestjs/common';
import { acceleratorName, type Instance } from '@orrery/contract';
import { conflict } from '../../platform/problem.js';
import { acceleratorResource, LEASES, type LeaseBook } from '../../ports/lease-book.js';
import type { Lenders } from '../../ports/lenders.js';
import { belongs, LendingGroups } from './groups.js';
import { LendingLedgers } from './ledger.js';

/** What groups lend is switched by nobody else, and given to nobody else. */
@Injectable()
export class LendingRights implements Lenders {
  constructor(
    @Inject(LendingGroups) private readonly groups: LendingGroups,
    @Inject(LendingLedgers) private readonly ledgers: LendingLedgers,
    @Inject(LEASES) private readonly leases: LeaseBook,
  ) {}

  requireFree(instance: Instance, accelerated: boolean): void {
    const group = this.groups.all().find((it) => it.enabled && belongs(it, instance));
    if (group)
      throw conflict(
        `The lending group "${group.title}" decides when ${instance.id} uses an accelerator; take it out of the group, or disable that.`,
      );
    if (!accelerated) return;
    const name = acceleratorName({ kind: 'instructions', server: instance.server });
    const lends = this.groups.all().find((it) => it.enabled && it.accelerators.map(acceleratorName).includes(name));
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

  private titleOf(groupId: string): string {
    return this.groups.find(groupId)?.title ?? groupId;
  }
}
