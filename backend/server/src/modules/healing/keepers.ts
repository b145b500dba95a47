import { Inject, Injectable } from '@nestjs/common';
import type { ChainKeeper, NotKeptChains } from '../../ports/not-kept-chains.js';
import { HealingRecords } from './records.js';

/** Which chains that are not kept are left to other loops. */
@Injectable()
export class Keepers implements NotKeptChains {
  private readonly keepers: ChainKeeper[] = [];

  constructor(@Inject(HealingRecords) private readonly records: HealingRecords) {}

  isNotKept(chainId: string): boolean {
    return this.records.notKept().some(({ chain_id }) => chain_id === chainId);
  }

  leaveTo(keeper: ChainKeeper): void {
    this.keepers.push(keeper);
  }

  /** Undefined: healing deploys it again. */
  of(chainId: string): ChainKeeper | undefined {
    return this.keepers.find((keeper) => keeper.keeps(chainId));
  }
}
