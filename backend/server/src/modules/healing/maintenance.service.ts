import { Inject, Injectable } from '@nestjs/common';
import {
  type MaintenanceChange,
  type MaintenanceEnd,
  type MaintenanceRequest,
  type OutOfService,
  type Plan,
  PlanRequest,
} from '@orrery/contract';
import { planRefusal } from '@orrery/planner';
import { newId } from '../../platform/ids.js';
import { conflict, notFound, ProblemError } from '../../platform/problem.js';
import { DEPLOYER, type Deployer, type PlanChange } from '../../ports/deployer.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { LENDERS, type Lenders } from '../../ports/lenders.js';
import { isOver } from '../../ports/operation-log.js';
import { PLANS, type PlanStore } from '../../ports/plan-store.js';
import { chainsAt, chainsOf, instancesOn, leftSoFar, movesOf, returnTo, toDrain, uses, warningsOf } from './moves.js';
import { HealingRecords } from './records.js';

const NOTHING: Omit<MaintenanceChange, 'part'> = {
  operation_id: null,
  plan_id: null,
  moves: [],
  chains: [],
  not_kept: [],
  warnings: [],
};

/** Takes servers and boards out of service by hand, and back. */
@Injectable()
export class MaintenanceService {
  constructor(
    @Inject(HealingRecords) private readonly records: HealingRecords,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(PLANS) private readonly plans: PlanStore,
    @Inject(DEPLOYER) private readonly deployer: Deployer,
    @Inject(LENDERS) private readonly lenders: Lenders,
  ) {}

  /** Throws 404, and 409 where the part cannot be drained. */
  begin(id: string, request: MaintenanceRequest, by: string): Promise<MaintenanceChange> {
    // A dry run is not to wait for a plan of the loop.
    return request.dry_run ? this.begun(id, request, by) : this.records.alone(() => this.begun(id, request, by));
  }

  private async begun(
    id: string,
    { reason, force, dry_run }: MaintenanceRequest,
    by: string,
  ): Promise<MaintenanceChange> {
    const part = this.partOf(id);
    if (this.records.find(id)?.maintenance) throw conflict(`${id} is in maintenance already.`);
    const { infrastructure } = this.infrastructure.current;
    const base = this.view.comingPlan;
    const request = toDrain(part, force);
    const plan = uses(base, infrastructure, part) ? await this.tried(request, base, dry_run) : null;
    if (plan && !plan.feasible) throw conflict(`${id} cannot be drained. ${planRefusal(plan)}${hint(force)}`);
    const seen = { ...(plan ? seenIn(base, plan) : NOTHING), chains: chainsAt(base, infrastructure, part) };
    if (dry_run) return { ...seen, plan_id: plan?.id ?? null, part: null };
    const operation_id = plan ? newId('op') : null;
    const maintenance = { reason, by, since_ms: Date.now(), force };
    const running = instancesOn(base, infrastructure, part);
    const data = { kind: part.kind, operation_id, chains: chainsOf(running) };
    const before = this.records.find(id);
    await this.records.commit((draft) => {
      draft.change(id, (now) => ({
        ...part,
        maintenance,
        lost: now?.lost ?? null,
        operation_id,
        left: leftSoFar(now?.left ?? [], running, (instance) => this.lenders.isLent(instance)),
        return_refused: null,
      }));
      draft.tell({
        type: 'maintenance.began',
        subject: id,
        message: `Maintenance of ${id}: ${reason}`,
        actor: by,
        data,
      });
    });
    const undo = () =>
      this.records.commit((draft) => {
        draft.change(id, (now) =>
          now && (now.lost || before)
            ? { ...now, maintenance: null, operation_id: null, left: before?.left ?? now.left }
            : undefined,
        );
        draft.tell({ type: 'maintenance.ended', subject: id, message: 'It was not drained', actor: by, data });
      });
    if (operation_id !== null) await this.ask(request, operation_id, by, undo);
    return { ...seen, part: this.records.find(id) ?? null, operation_id };
  }

  /**
   * It is in service then, whatever becomes of what left it: a return that is refused, or does not come about, stays listed
   * with the reason. Throws 404, and 409 where it is lost, or in service with nothing to return.
   */
  end(id: string, { return: returns }: MaintenanceEnd, by: string): Promise<MaintenanceChange> {
    return this.records.alone(async () => {
      const before = this.records.find(id);
      if (!before) {
        this.partOf(id);
        throw conflict(`${id} is in service already.`);
      }
      const { maintenance, lost, kind } = before;
      if (!maintenance && lost) throw conflict(`${id} is lost: ${lost.why}.`);
      const asked = before.operation_id === null ? undefined : this.deployer.operation(before.operation_id);
      if (!maintenance && asked && !isOver(asked)) throw conflict(`What left ${id} returns by ${asked.id}.`);
      const base = this.view.comingPlan;
      const { infrastructure } = this.infrastructure.current;
      const request = returns && !lost ? returnTo(before, base, infrastructure) : null;
      const operation_id = request ? newId('op') : null;
      await this.records.commit((draft) => {
        draft.change(id, (now) =>
          now && (lost || request) ? { ...now, maintenance: null, operation_id, return_refused: null } : undefined,
        );
        const message = maintenance ? `${id} is in service again` : `${id} is used as others are`;
        const data = { kind, operation_id, chains: chainsOf(before.left) };
        if (maintenance || !request) draft.tell({ type: 'maintenance.ended', subject: id, message, actor: by, data });
      });
      const seen = request ? await this.returned(id, request, operation_id!, by, base) : null;
      return { ...NOTHING, ...seen, part: this.records.find(id) ?? null };
    });
  }

  /** Null: it was refused. */
  private async returned(id: string, request: PlanChange, operation_id: string, by: string, base: Plan | null) {
    const refuse = (why: string) =>
      this.records.commit((draft) =>
        draft.change(id, (now) =>
          now?.operation_id === operation_id ? { ...now, operation_id: null, return_refused: why } : now,
        ),
      );
    try {
      const plan = await this.tried(request, base);
      if (!plan.feasible) {
        await refuse(planRefusal(plan));
        return null;
      }
      await this.ask(request, operation_id, by, () => Promise.resolve());
      return { ...seenIn(base, plan), operation_id };
    } catch (error) {
      await refuse((error as Error).message);
      if (error instanceof ProblemError && error.status < 500) return null;
      throw error;
    }
  }

  /** `isShown`: kept, to be looked at. */
  private tried(request: PlanChange, base: Plan | null, isShown = false): Promise<Plan> {
    const asked = PlanRequest.parse(request);
    const { comingDrivers } = this.view;
    return isShown
      ? this.plans.make(asked, base, comingDrivers, 'previews')
      : this.plans.tryOut(asked, base, comingDrivers);
  }

  private async ask(request: PlanChange, id: string, by: string, undo: () => Promise<void>): Promise<void> {
    try {
      await this.deployer.change(request, { id, kind: 'reconfigure', by });
    } catch (error) {
      // Of other errors it is not known whether it was accepted: the loop asks again by the same id.
      if (error instanceof ProblemError && error.status < 500) await undo();
      throw error;
    }
  }

  private partOf(id: string): Pick<OutOfService, 'id' | 'kind' | 'origin'> {
    const { servers, boards } = this.infrastructure.current.infrastructure;
    const server = servers.find((each) => each.id === id);
    if (server) return { id, kind: 'server', origin: server.origin };
    const board = boards.find((each) => each.id === id);
    if (board) return { id, kind: 'board', origin: board.origin };
    throw notFound('server or board', id);
  }
}

function hint(force: boolean): string {
  return force ? '' : ' With force, chains of the lowest priority are taken down for it.';
}

function seenIn(base: Plan | null, plan: Plan): Omit<MaintenanceChange, 'part'> {
  return {
    ...NOTHING,
    moves: movesOf(base, plan),
    not_kept: plan.not_kept ?? [],
    warnings: warningsOf(plan),
  };
}
