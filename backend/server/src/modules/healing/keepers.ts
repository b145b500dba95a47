import { Inject, Injectable } from '@nestjs/common';
import type { Plan } from '@orrery/contract';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import type { ChainKeeper, LeftOutChain, NotKeptChains } from '../../ports/not-kept-chains.js';
import { HealingRecords } from './records.js';

/** Which chains are not kept, and which of them are left to other loops. */
@Injectable()
export class Keepers implements NotKeptChains {
  private readonly keepers: ChainKeeper[] = [];
  private followed: Plan | null = null;
  /** Why chains were left out by plans that came into force since the last one that is accounted for. */
  private readonly recent = new Map<string, string>();

  constructor(
    @Inject(HealingRecords) private readonly records: HealingRecords,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
  ) {
    view.onChange(() => this.follow());
  }

  leftOut(): readonly LeftOutChain[] {
    this.follow();
    const { plan, comingPlan } = this.view;
    const found = new Map<string, LeftOutChain>();
    const put = (chain_id: string, because: string, version: number | null = null) =>
      void found.set(chain_id, { chain_id, because, version });
    for (const [id, because] of this.recent) put(id, because);
    for (const each of [plan, comingPlan])
      if (each?.id !== this.followed?.id) for (const { chain_id, because } of leftOutBy(each)) put(chain_id, because);
    for (const { chain_id, because, version } of this.records.notKept()) put(chain_id, because, version);
    return [...found.values()];
  }

  isNotKept(chainId: string): boolean {
    return this.leftOut().some(({ chain_id }) => chain_id === chainId);
  }

  leaveTo(keeper: ChainKeeper): void {
    this.keepers.push(keeper);
  }

  /** Undefined: healing deploys it again. */
  of(chainId: string): ChainKeeper | undefined {
    return this.keepers.find((keeper) => keeper.ownerOf(chainId) !== null);
  }

  ownerOf(chainId: string): string | null {
    return this.of(chainId)?.ownerOf(chainId) ?? null;
  }

  /** While one operation follows another, plans come into force that nobody accounts for yet. */
  private follow(): void {
    const { planInForce } = this.view;
    if (this.records.accountedPlan === (planInForce?.id ?? null)) this.recent.clear();
    else if (planInForce && planInForce !== this.followed) {
      const { chains, request } = planInForce;
      for (const id of [...chains.map(({ chain_id }) => chain_id), ...request.remove]) this.recent.delete(id);
      for (const { chain_id, because } of leftOutBy(planInForce)) this.recent.set(chain_id, because);
    }
    this.followed = planInForce;
  }
}

function leftOutBy(plan: Plan | null) {
  return (plan?.not_kept ?? []).filter(({ slo_id }) => slo_id === null);
}
