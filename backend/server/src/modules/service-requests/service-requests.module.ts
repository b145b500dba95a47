import { Controller, Global, Inject, Module, Res } from '@nestjs/common';
import {
  API_PREFIX,
  type MeasuredRequest,
  type RouteInput,
  type ServicePool,
  type SessionInfo,
} from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import { conflict } from '../../platform/problem.js';
import { Caller, Gone, Input, Route } from '../../platform/route.js';
import { REQUEST_BOUNDS } from '../../ports/request-bounds.js';
import { BoundWatch } from './bound-watch.js';
import { Bounds } from './bounds.js';
import { Decider } from './decider.js';
import { Enforcement } from './enforcement.js';
import { PoolView } from './pool-view.js';
import { Pools } from './pools.js';
import { Requests } from './requests.js';
import { SpecCheck } from './spec-check.js';
import type { StoredPool } from './stored.js';
import { Surroundings } from './surroundings.js';

@Controller()
class ServicePoolsController {
  constructor(
    @Inject(Pools) private readonly pools: Pools,
    @Inject(Requests) private readonly requests: Requests,
    @Inject(PoolView) private readonly view: PoolView,
    @Inject(Enforcement) private readonly enforcement: Enforcement,
  ) {}

  @Route('listServicePools')
  list(@Input() { query }: RouteInput<'listServicePools'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const all = this.pools.all().map((pool) => this.describe(pool));
    return pageOf(all, query, ({ id }) => id, reply);
  }

  @Route('createServicePool')
  async create(
    @Input() { body }: RouteInput<'createServicePool'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ServicePool> {
    const pool = await this.pools.create(body, caller.name);
    reply.header('location', `${API_PREFIX}/service-pools/${body.name}`);
    return this.describe(pool);
  }

  @Route('getServicePool')
  get(@Input() { params }: RouteInput<'getServicePool'>): ServicePool {
    return this.describe(this.pools.get(params.id));
  }

  @Route('deleteServicePool')
  async delete(
    @Input() { params, query }: RouteInput<'deleteServicePool'>,
    @Caller() caller: SessionInfo,
  ): Promise<void> {
    if (!(await this.enforcement.remove(params.id, caller.name, query.requests === 'release')))
      throw conflict('Requests use the pool, or wait for it; release them first.');
  }

  private describe(pool: StoredPool): ServicePool {
    const { name } = pool.definition;
    const claims = this.requests.claimsOf(name).length;
    return this.view.describe(pool, this.requests.heldOf(name), claims, this.enforcement.waitsFor(name));
  }
}

@Controller()
class ServiceRequestsController {
  constructor(
    @Inject(Requests) private readonly requests: Requests,
    @Inject(Decider) private readonly decider: Decider,
  ) {}

  @Route('listServiceRequests')
  list(@Input() { query }: RouteInput<'listServiceRequests'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const chosen = this.requests
      .all()
      .filter(({ pool }) => !query.pool || pool === query.pool)
      .filter(({ state }) => !query.state || state === query.state);
    const page = pageOf(chosen, query, ({ id }) => id, reply);
    return query.fields === undefined
      ? { ...page, items: page.items.map((request) => this.requests.describe(request)) }
      : page;
  }

  @Route('createServiceRequest')
  async create(
    @Input() { body }: RouteInput<'createServiceRequest'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<MeasuredRequest> {
    const request = await this.decider.create(body, caller.name);
    reply.header('location', `${API_PREFIX}/service-requests/${request.id}`);
    return this.requests.describe(request);
  }

  @Route('createServiceRequests')
  createAll(
    @Input() { body }: RouteInput<'createServiceRequests'>,
    @Caller() caller: SessionInfo,
    @Gone() gone: AbortSignal,
  ) {
    return this.decider.createAll(body, caller.name, gone);
  }

  @Route('dismissServiceRequests')
  dismiss(@Input() { query }: RouteInput<'dismissServiceRequests'>, @Caller() caller: SessionInfo) {
    return this.requests.dismiss(query, caller.name);
  }

  @Route('getBulkProgress')
  progress(@Input() { params }: RouteInput<'getBulkProgress'>) {
    return this.decider.progress(params.id);
  }

  @Route('getServiceRequest')
  get(@Input() { params }: RouteInput<'getServiceRequest'>): MeasuredRequest {
    return this.requests.describe(this.requests.get(params.id));
  }

  @Route('deleteServiceRequest')
  delete(@Input() { params, query }: RouteInput<'deleteServiceRequest'>, @Caller() caller: SessionInfo): Promise<void> {
    if (query.state === 'refused') return this.requests.forget(params.id, caller.name);
    return this.requests.release(params.id, caller.name);
  }
}

@Global()
@Module({
  controllers: [ServicePoolsController, ServiceRequestsController],
  providers: [
    PoolView,
    Pools,
    Requests,
    SpecCheck,
    Decider,
    Surroundings,
    Enforcement,
    BoundWatch,
    { provide: REQUEST_BOUNDS, useClass: Bounds },
  ],
  exports: [REQUEST_BOUNDS],
})
export class ServiceRequestsModule {}
