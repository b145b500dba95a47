import { Inject, Injectable } from '@nestjs/common';
import type { Operation, Plan } from '@orrery/contract';
import { ProblemError } from '../../platform/problem.js';
import { CHAINS, type ChainStore } from '../../ports/chain-store.js';
import { DEPLOYER, type Deployer } from '../../ports/deployer.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { OPERATIONS, type OperationLog } from '../../ports/operation-log.js';
import { PLANS, type PlanStore } from '../../ports/plan-store.js';
import { chainsLeftOut, chainsOf, instancesOn, uses } from './moves.js';
import { HealingRecords } from './records.js';

/** Plans between two looks, at most: each is an operation that came about. */
const MOST_PLANS = 64;

/**
 * Tells, once for each plan that came into force, which lost servers it does without and what it does not keep, and remembers
 * chains that it left out.
 */
@Injectable()
export class Accounts {
  constructor(
    @Inject(HealingRecords) private readonly records: HealingRecords,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(DEPLOYER) private readonly deployer: Deployer,
    @Inject(PLANS) private readonly plans: PlanStore,
    @Inject(CHAINS) private readonly chains: ChainStore,
    @Inject(OPERATIONS) private readonly operations: OperationLog,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
  ) {}

  /** The plan in force, while no operation is about to change it; undefined: one is. */
  get atRest(): Plan | null | undefined {
    return this.deployer.underWay().every(({ set_aside }) => set_aside !== null) ? this.view.comingPlan : undefined;
  }

  /** Whether every plan that came into force is accounted for. */
  get isUpToDate(): boolean {
    const plan = this.atRest;
    return plan !== undefined && this.records.accountedPlan === (plan?.id ?? null);
  }

  async update(nowMs: number): Promise<void> {
    const plan = this.atRest;
    if (plan === undefined) return;
    const told = this.records.accountedPlan;
    if (told !== (plan?.id ?? null)) await this.account(plan, told, nowMs);
    await this.forgetDeleted();
  }

  private async account(plan: Plan | null, told: string | null | undefined, nowMs: number): Promise<void> {
    const since = told === undefined ? [] : await this.plansSince(plan, told);
    const running = new Set(plan?.chains.map(({ chain_id }) => chain_id));
    const known = new Set(this.records.notKept().map(({ chain_id }) => chain_id));
    await this.records.commit((draft) => {
      for (const { made, before, versions, operation_id } of since) {
        if (operation_id !== null)
          for (const id of this.leftBehind(made, before)) {
            const message = `What ${id} ran and has room runs elsewhere`;
            const gone = instancesOn(before, this.infrastructure.current.infrastructure, { id, kind: 'server' });
            const data = { operation_id, chains: chainsOf(gone) };
            draft.tell({ type: 'healing.moved', subject: id, message, data });
          }
        for (const { chain_id, slo_id, because, priority, constraint } of made.not_kept ?? []) {
          // Left out again: nothing was taken down.
          if (slo_id === null && !before?.chains.some((chain) => chain.chain_id === chain_id)) continue;
          const what = slo_id === null ? 'It was taken down' : `Its objective ${slo_id} is not met`;
          draft.tell({
            type: 'healing.not-kept',
            subject: chain_id,
            message: `${what}: ${because}`,
            data: { slo_id, priority, constraint, plan_id: made.id },
          });
          const left = chainsLeftOut(made, before, versions, nowMs).find((chain) => chain.chain_id === chain_id);
          if (left && !running.has(chain_id)) draft.changeChain(chain_id, () => left);
        }
      }
      for (const chain_id of known) {
        if (!running.has(chain_id)) continue;
        draft.changeChain(chain_id, () => undefined);
        draft.tell({
          type: 'healing.kept-again',
          subject: chain_id,
          message: 'It has a place again',
          data: { plan_id: plan!.id },
        });
      }
      draft.accounted(plan?.id ?? null);
    });
  }

  /** Lost servers that the plan moved away from, be they well again by now; a drain is told as maintenance. */
  private leftBehind(made: Plan, before: Plan | null): string[] {
    const { infrastructure } = this.infrastructure.current;
    const left = (id: string) => uses(before, infrastructure, { id, kind: 'server' });
    return (made.excluded?.lost_servers ?? []).filter((id) => left(id) && !this.records.find(id)?.maintenance);
  }

  /** Oldest first; each with the one that it replaced. */
  private async plansSince(plan: Plan | null, told: string | null) {
    const found: Change[] = [];
    const operations = await this.operations.list();
    for (let made = plan; made && made.id !== told && found.length < MOST_PLANS; ) {
      const before = made.base_plan === null ? null : await this.plans.get(made.base_plan).catch(gone);
      const { id } = made;
      const operation = operations.find(({ plan_id }) => plan_id === id);
      const changes = operation?.chains ?? [];
      const versions = new Map(
        changes.flatMap(({ chain_id, from_version }) => (from_version === null ? [] : [[chain_id, from_version]])),
      );
      found.unshift({ made, before, versions, operation_id: operation?.id ?? null });
      made = before;
    }
    return found;
  }

  private async forgetDeleted(): Promise<void> {
    for (const { chain_id } of this.records.notKept()) {
      // Its packets are dropped: to forget it would leave no way to end that.
      if (this.view.isGuarded(chain_id)) continue;
      const chain = await this.chains.get(chain_id).catch(gone);
      if (chain === null) await this.records.commit((draft) => draft.changeChain(chain_id, () => undefined));
    }
  }
}

/** A plan that came into force. */
interface Change {
  readonly made: Plan;
  readonly before: Plan | null;
  /** Of its chains, by id. */
  readonly versions: ReadonlyMap<string, number>;
  /** Null: it is not known any more. */
  readonly operation_id: string | null;
}

function gone(error: unknown): null {
  if (error instanceof ProblemError && error.status === 404) return null;
  throw error;
}

export function isDone(operation: Operation): boolean {
  return operation.state === 'COMPLETED' || operation.state === 'PARTIALLY_COMPLETED';
}
