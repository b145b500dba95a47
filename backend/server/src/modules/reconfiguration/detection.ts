import { Inject, Injectable } from '@nestjs/common';
import { type Plan, PlanRequest, type Reconfiguration } from '@orrery/contract';
import { BOARDS, type BoardView } from '../../ports/board-view.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { PLANS, type PlanStore } from '../../ports/plan-store.js';
import { type Course, changesOf } from './course.js';
import { boardOf, brokenObjectives, nameOf, overrunBy } from './decision.js';
import { NfLoads } from './nf-loads.js';

/** Looks ahead: plans every change of a reconfiguration without making one. */
@Injectable()
export class Detection {
  constructor(
    @Inject(PLANS) private readonly plans: PlanStore,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(NfLoads) private readonly loads: NfLoads,
  ) {}

  /** Why the reconfiguration must not begin; null: it may. */
  async refusalOf(run: Reconfiguration, { decision, priority }: Course): Promise<string | null> {
    const { leave, load } = decision;
    if (run.cause === 'fallback' && !this.anyBroken(run)) return 'What runs on boards works again.';
    const [overrun] = load.length > 0 ? overrunBy(this.view.comingPlan, { ...decision, load: run.load }) : [];
    if (overrun) return `A full load would take ${overrun} off its board: it is not among what may be displaced.`;
    for (const nf of load.length > 0 ? leave : []) {
      const why = this.loads.cannotLeave(nf);
      if (why) return why;
    }
    const moving = new Set((load.length > 0 ? load : leave).map(({ pipeline_id }) => pipeline_id));
    let plan = this.view.comingPlan;
    for (const { request } of changesOf(decision)) {
      const next = await this.plans.make(PlanRequest.parse(request), plan);
      if (!next.feasible) return refusedPlan(next);
      const broken = brokenObjectives(plan, next, moving, priority, (id) => this.loads.priorityOf(id));
      const [slo] = run.cause === 'fallback' ? [] : broken;
      if (slo)
        return `Objective ${slo.slo_id} of ${slo.pipeline_id}, which is more important, would be missed: ${Math.round(slo.predicted)} ${slo.unit}, target ${slo.target}.`;
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

function refusedPlan({ problems, conflicts }: Plan): string {
  const problem = problems.find(({ severity }) => severity === 'error');
  if (problem) return `${problem.pointer}: ${problem.message}`;
  const [short] = conflicts;
  if (!short) return 'There is no plan for it.';
  return `${short.constraint} at ${short.where} needs ${short.needed} ${short.unit}, there is ${short.available} ${short.unit}.`;
}
