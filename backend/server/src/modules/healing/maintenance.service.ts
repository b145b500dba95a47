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
import { Mutex } from '../../platform/mutex.js';
import { conflict, notFound, ProblemError } from '../../platform/problem.js';
import { DEPLOYER, type Deployer, type PlanChange } from '../../ports/deployer.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { PLANS, type PlanStore } from '../../ports/plan-store.js';
import { instancesOn, leftBy, movesOf, returnTo, uses, warningsOf } from './moves.js';
import { HealingRecords } from './records.js';

const NOTHING: Omit<MaintenanceChange, 'part'> = { operation_id: null, moves: [], not_kept: [], warnings: [] };

/** Takes servers and boards out of service by hand, and back. */
@Injectable()
export class MaintenanceService {
  private readonly mutex = new Mutex();

  constructor(
    @Inject(HealingRecords) private readonly records: HealingRecords,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(PLANS) private readonly plans: PlanStore,
    @Inject(DEPLOYER) private readonly deployer: Deployer,
  ) {}

  /** Throws 404, and 409 where the part cannot be drained. */
  begin(id: string, { reason, force, dry_run }: MaintenanceRequest, by: string): Promise<MaintenanceChange> {
    return this.mutex.run(async () => {
      const part = this.partOf(id);
      if (this.records.find(id)?.maintenance) throw conflict(`${id} is in maintenance already.`);
      const { infrastructure } = this.infrastructure.current;
      const base = this.view.comingPlan;
      const without = part.kind === 'server' ? { without_servers: [id] } : { without_boards: [id] };
      const request: PlanChange = { ...without, ...(force ? { when_short: 'leave-out' } : {}) };
      const plan = uses(base, infrastructure, part) ? await this.tried(request, base) : null;
      if (plan && !plan.feasible) throw conflict(`${id} cannot be drained. ${planRefusal(plan)}${hint(force)}`);
      const seen = plan ? seenIn(base, plan) : NOTHING;
      if (dry_run) return { ...seen, part: null };
      const operation_id = plan ? newId('op') : null;
      const maintenance = { reason, by, since_ms: Date.now() };
      const left = leftBy(instancesOn(base, infrastructure, part));
      const before = this.records.find(id);
      const entry: OutOfService = {
        ...part,
        maintenance,
        lost: before?.lost ?? null,
        operation_id,
        left: [...(before?.left ?? []), ...left],
      };
      await this.records.commit((draft) => {
        draft.put(entry);
        draft.tell({
          type: 'maintenance.began',
          subject: id,
          message: `Maintenance of ${id}: ${reason}`,
          actor: by,
          data: { kind: part.kind, operation_id },
        });
      });
      if (operation_id === null) return { ...NOTHING, part: entry };
      await this.ask(request, operation_id, by, async () => {
        await this.records.commit((draft) => (before ? draft.put(before) : draft.remove(id)));
      });
      return { ...seen, part: entry, operation_id };
    });
  }

  /** Throws 404, and 409 where what left the part cannot return. */
  end(id: string, { return: returns }: MaintenanceEnd, by: string): Promise<MaintenanceChange> {
    return this.mutex.run(async () => {
      const before = this.records.find(id);
      if (!before) {
        this.partOf(id);
        throw conflict(`${id} is in service already.`);
      }
      if (!before.maintenance && before.lost) throw conflict(`${id} is lost: ${before.lost.why}.`);
      const after = before.lost ? { ...before, maintenance: null, operation_id: null } : null;
      const base = this.view.comingPlan;
      const { infrastructure } = this.infrastructure.current;
      const request = returns && !before.lost ? returnTo(before, base, infrastructure) : null;
      await this.records.commit((draft) => {
        if (after) draft.put(after);
        else draft.remove(id);
        draft.tell({
          type: 'maintenance.ended',
          subject: id,
          message: `${id} is in service again`,
          actor: by,
          data: { kind: before.kind, operation_id: null },
        });
      });
      if (!request) return { ...NOTHING, part: after };
      const back = () => this.records.commit((draft) => draft.put(before));
      const operation_id = newId('op');
      const plan = await this.tried(request, base);
      if (!plan.feasible) {
        await back();
        throw conflict(`What left ${id} cannot return. ${planRefusal(plan)}`);
      }
      await this.ask(request, operation_id, by, back);
      return { ...seenIn(base, plan), part: after, operation_id };
    });
  }

  private tried(request: PlanChange, base: Plan | null): Promise<Plan> {
    return this.plans.tryOut(PlanRequest.parse(request), base, this.view.comingDrivers);
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
    operation_id: null,
    moves: movesOf(base, plan),
    not_kept: plan.not_kept ?? [],
    warnings: warningsOf(plan),
  };
}
