import { Controller, Global, Inject, Module, Res } from '@nestjs/common';
import { API_PREFIX, type Plan, type PlanCertificate, type PlanRequest, type RouteInput } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { conflict } from '../../platform/problem.js';
import { Input, Route } from '../../platform/route.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { DESCRIPTORS, type NfDescriptors } from '../../ports/descriptor-catalogue.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { PLAN_SHELVES } from '../../ports/plan-shelves.js';
import { PLANS, type PlanStore } from '../../ports/plan-store.js';
import { Certifier } from './certifier.js';
import { StoredPlans } from './plan-shelves.js';
import { Planner } from './planner.js';
import { PlansService } from './plans.service.js';

@Controller()
class PlansController {
  constructor(
    @Inject(PLANS) private readonly plans: PlanStore,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(DESCRIPTORS) private readonly catalogue: NfDescriptors,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(Certifier) private readonly certifier: Certifier,
  ) {}

  @Route('createPlan')
  async create(
    @Input() { body }: RouteInput<'createPlan'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Plan> {
    const { base, coming } = await this.baseOf(body);
    const plan = await this.plans.make(body, base, coming, 'previews');
    reply.header('location', `${API_PREFIX}/plans/${plan.id}`);
    return plan;
  }

  @Route('previewPlan')
  async preview(@Input() { body }: RouteInput<'previewPlan'>): Promise<Plan> {
    const { base, coming } = await this.baseOf(body);
    return this.plans.lookAhead(body, base, coming);
  }

  private async baseOf({ on_top_of }: PlanRequest) {
    const { comingPlan, comingDrivers } = this.view;
    if (on_top_of === undefined) return { base: comingPlan, coming: comingDrivers };
    const base = await this.plans.get(on_top_of);
    return { base, coming: [...comingDrivers, ...(base.drivers ?? [])] };
  }

  @Route('certifyPlan')
  async certify(@Input() { params, body }: RouteInput<'certifyPlan'>): Promise<PlanCertificate> {
    const plan = await this.plans.get(params.id);
    if (!plan.feasible) throw conflict('The plan is not feasible, so there is nothing to prove.');
    const { infrastructure, revision } = this.infrastructure.current;
    if (plan.infrastructure_revision !== revision)
      throw conflict('The infrastructure changed since the plan was made; make it again.');
    const started = performance.now();
    const quality = await this.certifier.certify({
      input: { plan, descriptors: this.catalogue.all(), infrastructure },
      time_limit_s: body.time_limit_s,
    });
    if (!quality) throw conflict('The catalogue changed since the plan was made; make it again.');
    return { plan_id: plan.id, quality, elapsed_ms: performance.now() - started };
  }

  @Route('getPlan')
  get(@Input() { params }: RouteInput<'getPlan'>): Promise<Plan> {
    return this.plans.get(params.id);
  }
}

@Global()
@Module({
  controllers: [PlansController],
  providers: [
    StoredPlans,
    PlansService,
    Planner,
    Certifier,
    { provide: PLANS, useExisting: PlansService },
    { provide: PLAN_SHELVES, useExisting: StoredPlans },
  ],
  exports: [PLANS, PLAN_SHELVES],
})
export class PlansModule {}
