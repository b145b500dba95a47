import { Controller, Global, Inject, Injectable, Module, Res } from '@nestjs/common';
import {
  API_PREFIX,
  type Plan,
  type PlanCertificate,
  type PlannedPipeline,
  PlanOptions,
  type PlanRequest,
  type RouteInput,
} from '@orrery/contract';
import { BadProblem } from '@orrery/planner/bad-problem';
import { makePlan } from '@orrery/planner/plan';
import type { FastifyReply } from 'fastify';
import { newId } from '../../platform/ids.js';
import { conflict, invalid, notFound } from '../../platform/problem.js';
import { STORE, type Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import { Input, Route } from '../../platform/route.js';
import { BOARDS, type BoardView } from '../../ports/board-view.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { DESCRIPTORS, type DescriptorCatalogue } from '../../ports/descriptor-catalogue.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { PIPELINES, type PipelineStore } from '../../ports/pipeline-store.js';
import { PLANS, type PlanStore } from '../../ports/plan-store.js';
import { Certifier } from './certifier.js';

const KEEP_S = 86_400;
/** So many plans that nobody deployed are kept, those that were read last: Redis evicts nothing by itself. */
const KEEP_PREVIEWS = 200;
/** Deletes the plans beyond the newest ARGV[1] of the index KEYS[1], but none without an expiry: it is deployed. */
const TRIM = `
for _, key in ipairs(redis.call('zrange', KEYS[1], 0, -ARGV[1] - 1)) do
  if redis.call('ttl', key) >= 0 then redis.call('del', key) end
  redis.call('zrem', KEYS[1], key)
end`;
/** Bounds the improvement of a placement, so that a plan takes milliseconds. */
const SEARCH_STEPS = 2000;
/** After it a plan leaves out what is not needed to deploy it, and says so. */
const PLAN_LIMIT_MS = 1000;

@Injectable()
class PlansService implements PlanStore {
  constructor(
    @Inject(STORE) private readonly store: Store,
    @Inject(PIPELINES) private readonly pipelines: PipelineStore,
    @Inject(DESCRIPTORS) private readonly catalogue: DescriptorCatalogue,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(FLEET) private readonly fleet: NodeFleet,
  ) {}

  async get(id: string): Promise<Plan> {
    const plan = await this.store.json<Plan>(KEYS.plan(id));
    if (!plan) throw notFound('plan', id);
    await this.store.redis.zadd(KEYS.planPreviews, 'XX', Date.now(), KEYS.plan(id));
    return plan;
  }

  async make(request: PlanRequest, base: Plan | null, before: Plan | null = null): Promise<Plan> {
    const deadline = performance.now() + PLAN_LIMIT_MS;
    const pipelines = await this.wanted(request, base);
    const unknown = request.without_slots.flatMap((slot, i) => this.boards.errorsOf(slot, `/without_slots/${i}`));
    if (unknown.length > 0) throw invalid(unknown);
    const { infrastructure, revision } = this.infrastructure.current;
    const servers = infrastructure.servers.map(({ id }) => id);
    const plan = planOrRefuse({
      id: newId('plan'),
      created_ms: Date.now(),
      options: optionsOf(request),
      pipelines,
      descriptors: this.catalogue.all(),
      infrastructure,
      infrastructure_revision: revision,
      base,
      before,
      implementations: request.implementations,
      container_servers: servers.filter((id) => this.fleet.offers(id, 'container')),
      reserved_slots: this.boards.reserved(),
      without_slots: [...request.without_slots, ...this.boards.broken()],
      budget: { steps: SEARCH_STEPS, expired: () => performance.now() > deadline },
    });
    const key = KEYS.plan(plan.id);
    await this.store.transact((transaction) => {
      transaction.set(key, JSON.stringify(plan), 'EX', KEEP_S);
      transaction.zadd(KEYS.planPreviews, plan.created_ms, key);
      transaction.eval(TRIM, 1, KEYS.planPreviews, KEEP_PREVIEWS);
    });
    return plan;
  }

  /** What runs, with the request's pipelines added or replaced and its removals taken away. */
  private async wanted(request: PlanRequest, base: Plan | null): Promise<PlannedPipeline[]> {
    const wanted = new Map((base?.pipelines ?? []).map((pipeline) => [pipeline.pipeline_id, pipeline]));
    request.remove.forEach((id, index) => {
      if (!wanted.delete(id))
        throw invalid([{ pointer: `/remove/${index}`, detail: `${id} is not deployed`, code: 'not-deployed' }]);
    });
    const named = new Set(request.remove);
    for (const [index, { pipeline_id: id, version }] of request.pipelines.entries()) {
      const pointer = `/pipelines/${index}/pipeline_id`;
      if (named.has(id)) throw invalid([{ pointer, detail: `${id} is named twice`, code: 'duplicate-id' }]);
      named.add(id);
      wanted.set(id, await this.planned(id, version ?? 0));
    }
    return [...wanted.values()];
  }

  private async planned(id: string, version: number): Promise<PlannedPipeline> {
    if (version > 0) {
      const { definition } = await this.pipelines.version(id, version);
      return { pipeline_id: id, version, definition };
    }
    const { draft, draft_differs, versions } = await this.pipelines.get(id);
    return { pipeline_id: id, version: draft_differs ? 0 : (versions.at(-1)?.version ?? 0), definition: draft };
  }
}

function optionsOf(request: PlanRequest): PlanOptions {
  return PlanOptions.parse(
    Object.fromEntries(Object.keys(PlanOptions.shape).map((key) => [key, request[key as keyof PlanOptions]])),
  );
}

/** A problem too large or not sound for the planner is the request's fault, not the server's. */
function planOrRefuse(input: Parameters<typeof makePlan>[0]): Plan {
  try {
    return makePlan(input);
  } catch (error) {
    if (!(error instanceof BadProblem)) throw error;
    throw invalid([{ pointer: error.field, detail: error.detail, code: 'cannot-be-planned' }]);
  }
}

@Controller()
class PlansController {
  constructor(
    @Inject(PLANS) private readonly plans: PlanStore,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(DESCRIPTORS) private readonly catalogue: DescriptorCatalogue,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(Certifier) private readonly certifier: Certifier,
  ) {}

  @Route('createPlan')
  async create(
    @Input() { body }: RouteInput<'createPlan'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Plan> {
    const base = body.on_top_of === undefined ? this.view.comingPlan : await this.plans.get(body.on_top_of);
    const plan = await this.plans.make(body, base);
    reply.header('location', `${API_PREFIX}/plans/${plan.id}`);
    return plan;
  }

  @Route('certifyPlan')
  async certify(@Input() { params, body }: RouteInput<'certifyPlan'>): Promise<PlanCertificate> {
    const plan = await this.plans.get(params.id);
    if (!plan.feasible) throw conflict('The plan is not feasible, so that there is nothing to prove.');
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
  providers: [PlansService, Certifier, { provide: PLANS, useExisting: PlansService }],
  exports: [PLANS],
})
export class PlansModule {}
