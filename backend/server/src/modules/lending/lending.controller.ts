import { Controller, Inject, Res } from '@nestjs/common';
import { API_PREFIX, type LendingGroup, type RouteInput, type SessionInfo } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import type { Precondition } from '../../platform/precondition.js';
import { Caller, etagOf, IfMatch, Input, Route } from '../../platform/route.js';
import { LendingGroups, type StoredGroup } from './groups.js';
import { LendingReferences } from './lending-references.js';
import { LendingView } from './lending-view.js';

@Controller()
export class LendingController {
  constructor(
    @Inject(LendingGroups) private readonly groups: LendingGroups,
    @Inject(LendingReferences) private readonly references: LendingReferences,
    @Inject(LendingView) private readonly view: LendingView,
  ) {}

  @Route('listLendingGroups')
  list(@Input() { query }: RouteInput<'listLendingGroups'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const described = this.groups.all().map((group) => this.view.describe(group));
    return pageOf(described, query, ({ id }) => id, reply);
  }

  @Route('createLendingGroup')
  async create(
    @Input() { body }: RouteInput<'createLendingGroup'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<LendingGroup> {
    await this.references.require(body, null);
    const group = await this.groups.add(body, caller.name);
    reply.header('location', `${API_PREFIX}/lending-groups/${group.id}`);
    return this.tagged(group, reply);
  }

  @Route('getLendingGroup')
  get(
    @Input() { params }: RouteInput<'getLendingGroup'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): LendingGroup {
    return this.tagged(this.groups.get(params.id), reply);
  }

  @Route('putLendingGroup')
  async put(
    @Input() { params, body }: RouteInput<'putLendingGroup'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<LendingGroup> {
    await this.references.require(body, this.groups.get(params.id));
    return this.tagged(await this.groups.replace(params.id, body, ifMatch, caller.name), reply);
  }

  @Route('deleteLendingGroup')
  delete(
    @Input() { params }: RouteInput<'deleteLendingGroup'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
  ): Promise<void> {
    return this.groups.remove(params.id, ifMatch ?? null, caller.name);
  }

  @Route('listLendingTurns')
  turns(@Input() { params, query }: RouteInput<'listLendingTurns'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const { id } = this.groups.get(params.id);
    const { since = 0 } = query;
    const turns = this.view.turnsOf(id).filter(({ to_ms }) => to_ms === null || to_ms > since);
    return pageOf(turns, query, (turn) => turn.id, reply);
  }

  private tagged(group: StoredGroup, reply: FastifyReply): LendingGroup {
    const described = this.view.describe(group);
    reply.header('etag', etagOf(described.revision));
    return described;
  }
}
