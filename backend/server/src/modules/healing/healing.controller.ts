import { Controller, Inject, Res } from '@nestjs/common';
import type { HealingPolicy, MaintenanceChange, RouteInput, SessionInfo } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import { type Precondition, requireRead } from '../../platform/precondition.js';
import { Caller, etagOf, IfMatch, Input, Route } from '../../platform/route.js';
import { MaintenanceService } from './maintenance.service.js';
import { HealingRecords } from './records.js';

@Controller()
export class HealingController {
  constructor(
    @Inject(HealingRecords) private readonly records: HealingRecords,
    @Inject(MaintenanceService) private readonly maintenance: MaintenanceService,
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
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<HealingPolicy> {
    const revision = this.records.policyRevision;
    const ifMatch = requireRead(given, 'healing policy', revision);
    await this.records.replacePolicy(body, ifMatch);
    return this.policy(reply);
  }

  @Route('listOutOfService')
  list(@Input() { query }: RouteInput<'listOutOfService'>, @Res({ passthrough: true }) reply: FastifyReply) {
    return pageOf(this.records.out(), query, ({ id }) => id, reply);
  }

  @Route('listChainsNotKept')
  notKept(@Input() { query }: RouteInput<'listChainsNotKept'>, @Res({ passthrough: true }) reply: FastifyReply) {
    return pageOf(this.records.notKept(), query, ({ chain_id }) => chain_id, reply);
  }

  @Route('beginMaintenance')
  begin(
    @Input() { params, body }: RouteInput<'beginMaintenance'>,
    @Caller() caller: SessionInfo,
  ): Promise<MaintenanceChange> {
    return this.maintenance.begin(params.id, body, caller.name);
  }

  @Route('endMaintenance')
  end(
    @Input() { params, body }: RouteInput<'endMaintenance'>,
    @Caller() caller: SessionInfo,
  ): Promise<MaintenanceChange> {
    return this.maintenance.end(params.id, body, caller.name);
  }
}
