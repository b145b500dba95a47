import { Inject, Injectable } from '@nestjs/common';
import type { EventDraft, Infrastructure, Plan, RequestedChange } from '@orrery/contract';
import { planRefusal } from '@orrery/planner';
import { ProblemError } from '../../platform/problem.js';
import { EXCLUSIONS, type Exclusions } from '../../ports/exclusions.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { PLANS, type PlanStore } from '../../ports/plan-store.js';
import { type Accepted, type DesiredChange, DesiredStore } from './desired-store.js';
import { doneAlready, ending } from './endings.js';
import { resumed, stepsOf } from './operation-steps.js';
import { changesBetween } from './versions.js';

/**
 * Plans an accepted operation again when its turn comes and something else is in force than it was planned on: an operation
 * before it has ended without effect, or was set aside. One that is to be carried out as planned fails then.
 */
@Injectable()
export class Replanner {
  constructor(
    @Inject(DesiredStore) private readonly state: DesiredStore,
    @Inject(PLANS) private readonly plans: PlanStore,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(EXCLUSIONS) private readonly exclusions: Exclusions,
  ) {}

  /** Whether anything was stored: the operation has another plan, or it has ended. */
  async planAgain(head: Accepted): Promise<boolean> {
    const base = this.state.planInForce;
    if (this.isCurrent(head, base)) return false;
    if (head.operation.as_planned) {
      await this.fail(head, 'another plan might disturb what this one leaves alone');
      return true;
    }
    const request = stillToDo(head.operation.request, base, this.infrastructure.current.infrastructure);
    if (!request) {
      await this.commit(head, (operation) => doneAlready(this.state, operation, Date.now()));
      return true;
    }
    const plan = await this.plans.make(request, base).catch(asRefusal);
    const why = typeof plan === 'string' ? plan : plan.feasible ? null : planRefusal(plan);
    if (why !== null || typeof plan === 'string') await this.fail(head, `it cannot be planned on what is: ${why}`);
    else await this.replace(head, plan, request);
    return true;
  }

  private isCurrent({ operation: { set_aside }, plan }: Accepted, base: Plan | null): boolean {
    if (plan.base_plan !== (base?.id ?? null)) return false;
    if (set_aside === null) return true;
    // The same plan would wait again for servers that are done without by now.
    const known = plan.excluded?.lost_servers ?? [];
    const lost = this.exclusions.lost_servers.filter((node) => !known.includes(node));
    if (set_aside.waiting_for.some((node) => lost.includes(node))) return false;
    return plan.infrastructure_revision === this.infrastructure.current.revision;
  }

  private fail(head: Accepted, detail: string): Promise<void> {
    const why = `What it was planned on is not in force, and ${detail}`;
    return this.commit(head, (operation) => ending(this.state, operation, { state: 'FAILED', why }, Date.now()));
  }

  private replace(head: Accepted, plan: Plan, request: RequestedChange): Promise<void> {
    const running = this.state.desired.in_force.chains;
    const asked = new Map(request.chains.map(({ chain_id, version }) => [chain_id, version]));
    const versions = new Map(
      plan.chains.map(({ chain_id: id, version }) => [id, asked.get(id) ?? running[id]?.version ?? version]),
    );
    return this.commit(head, (before) => {
      const nowMs = Date.now();
      const operation = {
        ...resumed(before, nowMs),
        plan_id: plan.id,
        request,
        chains: changesBetween(running, versions, new Set(asked.keys())),
        drivers: plan.drivers ?? [],
        steps: stepsOf(plan),
      };
      const event: EventDraft = {
        type: 'operation.replanned',
        subject: operation.id,
        message: 'Planned again: what it was planned on is not in force',
        data: { chain_id: operation.subject, plan_id: plan.id },
      };
      return { operations: [operation], replanned: { operation, plan }, events: [event] };
    });
  }

  private commit(head: Accepted, change: (operation: Accepted['operation']) => DesiredChange): Promise<void> {
    return this.state.commit(() => {
      const now = this.state.queue.find(({ operation }) => operation.id === head.operation.id);
      return now?.plan.id === head.plan.id ? change(now.operation) : null;
    });
  }
}

/**
 * The request without chains to remove that do not run any more and whose packets are not dropped either, and drivers that
 * switches have already; null: nothing else was asked for.
 */
function stillToDo(request: RequestedChange, base: Plan | null, { switches }: Infrastructure): RequestedChange | null {
  const known = new Set([...(base?.chains ?? []), ...(base?.guarded ?? [])].map(({ chain_id }) => chain_id));
  const remove = request.remove.filter((id) => known.has(id));
  const asked = request.switch_drivers ?? [];
  const switch_drivers = asked.filter(
    (choice) => !switches.some(({ id, driver }) => id === choice.switch && driver === choice.driver),
  );
  const had = request.remove.length + asked.length > 0;
  const isDone = had && remove.length + switch_drivers.length === 0 && request.chains.length === 0;
  return isDone ? null : { ...request, remove, switch_drivers };
}

function asRefusal(error: unknown): string {
  if (error instanceof ProblemError && error.status < 500) return error.message;
  throw error;
}
