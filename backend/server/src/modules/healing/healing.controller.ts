import { Controller, Inject, Res } from '@nestjs/common';
import {
  API_PREFIX,
  type HealingPolicy,
  type MaintenanceChange,
  type Operation,
  type RouteInput,
  type SessionInfo,
} from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import { type Precondition, requireRead } from '../../platform/precondition.js';
import { Caller, etagOf, IfMatch, Input, Route } from '../../platform/route.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { MaintenanceService } from './maintenance.service.js';
import { uses } from './moves.js';
import { HealingRecords } from './records.js';
import { inOrder, Redeployment } from './redeployment.js';

@Controller()
export class HealingController {
  constructor(
    @Inject(HealingRecords) private readonly records: HealingRecords,
    @Inject(MaintenanceService) private readonly maintenance: MaintenanceService,
    @Inject(Redeployment) private readonly redeployment: Redeployment,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
  ) {}

  @Route('getHealingPolicy')
  policy(@Res({ passthrough: true }) reply: FastifyReply): HealingPolicy {
    const { id: _id, ...policy } = this.records.policy;
    const revision = this.records.policyRevision;
    reply.header('etag', etagOf(revision));
    return { ...policy, revision };
  }

  @Route('putHealingPolicy')
  async replace(
    @Input() { body }: RouteInput<'putHealingPolicy'>,
    @IfMatch() given: Precondition,
    @Caller() { name }: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<HealingPolicy> {
    const revision = this.records.policyRevision;
    const ifMatch = requireRead(given, 'healing policy', revision);
    await this.records.replacePolicy(body, ifMatch, name);
    return this.policy(reply);
  }

  @Route('listOutOfService')
  list(@Input() { query }: RouteInput<'listOutOfService'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const { infrastructure } = this.infrastructure.current;
    const parts = this.records
      .out()
      .map((part) => ({ ...part, in_use: uses(this.view.comingPlan, infrastructure, part) }));
    return pageOf(parts, query, ({ id }) => id, reply);
  }

  @Route('listChainsNotKept')
  notKept(@Input() { query }: RouteInput<'listChainsNotKept'>, @Res({ passthrough: true }) reply: FastifyReply) {
    return pageOf(inOrder(this.records.notKept()), query, ({ chain_id }) => chain_id, reply);
  }

  @Route('deployNotKept')
  async deploy(
    @Input() { params }: RouteInput<'deployNotKept'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Operation> {
    const operation = await this.redeployment.deploy(params.chain_id, caller.name);
    reply.header('location', `${API_PREFIX}/operations/${operation.id}`);
    return operation;
  }

  @Route('giveUpNotKept')
  giveUp(@Input() { params }: RouteInput<'giveUpNotKept'>, @Caller() caller: SessionInfo): Promise<void> {
    return this.redeployment.giveUp(params.chain_id, caller.name);
  }

  @Route('beginMaintenance')
  async begin(
    @Input() { params, body }: RouteInput<'beginMaintenance'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<MaintenanceChange> {
    return answered(await this.maintenance.begin(params.id, body, caller.name), reply);
  }

  @Route('endMaintenance')
  async end(
    @Input() { params, body }: RouteInput<'endMaintenance'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<MaintenanceChange> {
    return answered(await this.maintenance.end(params.id, body, caller.name), reply);
  }
}

/** The operation that continues is at the address in `Location`; without one, all is done. */
function answered(change: MaintenanceChange, reply: FastifyReply): MaintenanceChange {
  if (change.operation_id === null) reply.status(200);
  else reply.header('location', `${API_PREFIX}/operations/${change.operation_id}`);
  return change;
}
