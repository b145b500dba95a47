import { Inject, Injectable } from '@nestjs/common';
import { acceleratorName, type Instance } from '@orrery/contract';
import { conflict } from '../../platform/problem.js';
import { acceleratorResource, LEASES, type LeaseBook } from '../../ports/lease-book.js';
import type { Lenders } from '../../ports/lenders.js';
import { belongs, LendingGroups } from './groups.js';

/** What groups lend is not switched by anybody else. */
@Injectable()
export class LendingRights implements Lenders {
  constructor(
    @Inject(LendingGroups) private readonly groups: LendingGroups,
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
    const lease = this.leases.find('lend', acceleratorResource(name));
    if (lease)
      throw conflict(
        `The lending group "${this.titleOf(lease.holder)}" has lent ${name} to another NF; wait for its end.`,
      );
  }

  private titleOf(groupId: string): string {
    return this.groups.find(groupId)?.title ?? groupId;
  }
}
