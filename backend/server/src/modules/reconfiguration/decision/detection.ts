import { Inject, Injectable } from '@nestjs/common';
import { type Plan, PlanRequest, type Reconfiguration } from '@orrery/contract';
import { planRefusal } from '@orrery/planner';
import { BOARDS, type BoardView } from '../../../ports/board-view.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../../ports/deployment-view.js';
import { PLANS, type PlanStore } from '../../../ports/plan-store.js';
import { changesOf } from '../conduct/changes.js';
import type { Course } from '../conduct/course.js';
import { boardOf, nameOf } from '../places.js';
import { PolicyRules } from '../policies/policy-rules.js';
import { brokenObjectives, overrunBy } from './decision.js';

/** Plans every change of a reconfiguration without applying it. */
@Injectable()
export class Detection {
  constructor(
    @Inject(PLANS) private readonly plans: PlanStore,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(PolicyRules) private readonly rules: PolicyRules,
  ) {}

  /** Why the reconfiguration is refused; null: it may begin. */
  async refusalOf(run: Reconfiguration, { decision, priority }: Course): Promise<string | null> {
    const { leave, load } = decision;
    if (run.cause === 'fallback' && !this.anyBroken(run)) return 'The NFs on boards work again.';
    const [overrun] = load.length > 0 ? overrunBy(this.view.comingPlan, { ...decision, load: run.load }) : [];
    if (overrun)
      return `A full load would take ${overrun} off its board: the request does not allow it to be displaced.`;
    for (const nf of load.length > 0 ? leave : []) {
      const why = this.rules.cannotLeave(nf);
      if (why) return why;
    }
    const moving = new Set((load.length > 0 ? load : leave).map(({ chain_id }) => chain_id));
    let plan = this.view.comingPlan;
    for (const { request } of changesOf(decision)) {
      const next = await this.plans.lookAhead(PlanRequest.parse(request), plan, this.view.comingDrivers);
      if (!next.feasible) return planRefusal(next);
      const of = (id: string) => this.rules.priorityOf(id, next);
      const broken = brokenObjectives(plan, next, moving, priority, of);
      const [slo] = run.cause === 'fallback' ? [] : broken;
      if (slo) return missed(slo);
      for (const nf of run.cause === 'fallback' || load.length === 0 ? [] : leave) {
        const short = this.rules.softwareFallsShort(next, nf);
        if (short) return short;
      }
      plan = next;
    }
    return null;
  }

  private anyBroken({ moves }: Reconfiguration): boolean {
    const broken = new Set(this.boards.broken().map(nameOf));
    return moves.some((nf) => {
      const place = boardOf(this.view.comingPlan, nf);
      return place !== null && broken.has(nameOf(place));
    });
  }
}

function missed({ slo_id, chain_id, predicted, unit, target }: Plan['slos'][number]): string {
  return `Objective ${slo_id} of ${chain_id}, which has a higher priority, would be missed: ${Math.round(predicted)} ${unit}, target ${target}.`;
}
