import { Controller, Inject, Module, Res } from '@nestjs/common';
import {
  type AnyApplicationKind,
  API_PREFIX,
  APPLICATION_KINDS,
  type Application,
  applicationKindInfo,
  type RouteInput,
  type SessionInfo,
} from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import type { Precondition } from '../../platform/precondition.js';
import { invalid } from '../../platform/problem.js';
import { Caller, etagOf, IfMatch, Input, Route } from '../../platform/route.js';
import { Applications } from './applications.js';
import type { StoredApplication } from './stored.js';
import { Supervision } from './supervision.js';

const KINDS = APPLICATION_KINDS.map((kind) => applicationKindInfo(kind as unknown as AnyApplicationKind));

@Controller()
class ApplicationsController {
  constructor(
    @Inject(Applications) private readonly applications: Applications,
    @Inject(Supervision) private readonly supervision: Supervision,
  ) {}

  @Route('listApplicationKinds')
  kinds(@Input() { query }: RouteInput<'listApplicationKinds'>, @Res({ passthrough: true }) reply: FastifyReply) {
    return pageOf(KINDS, query, ({ id }) => id, reply);
  }

  @Route('listApplications')
  list(@Input() { query }: RouteInput<'listApplications'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const chosen = this.applications
      .stored()
      .filter(({ definition }) => !query.kind || definition.kind === query.kind)
      .filter(({ definition }) => !query.node || definition.node === query.node)
      .map((stored) => this.describe(stored))
      .filter(({ status }) => !query.state || status.state === query.state);
    return pageOf(chosen, query, ({ id }) => id, reply);
  }

  @Route('createApplication')
  async create(
    @Input() { body }: RouteInput<'createApplication'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Application> {
    const stored = await this.applications.create(body, caller.name);
    reply.header('location', `${API_PREFIX}/applications/${body.id}`);
    return this.tagged(stored, reply);
  }

  @Route('getApplication')
  get(@Input() { params }: RouteInput<'getApplication'>, @Res({ passthrough: true }) reply: FastifyReply): Application {
    return this.tagged(this.applications.get(params.id), reply);
  }

  @Route('putApplication')
  async put(
    @Input() { params, body }: RouteInput<'putApplication'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Application> {
    if (body.id !== params.id)
      throw invalid([{ pointer: '/id', detail: `does not match "${params.id}" in the URL`, code: 'mismatch' }]);
    return this.tagged(await this.applications.put(body, ifMatch, caller.name), reply);
  }

  @Route('restartApplication')
  async restart(
    @Input() { params }: RouteInput<'restartApplication'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Application> {
    return this.tagged(await this.applications.restart(params.id, ifMatch ?? null, caller.name), reply);
  }

  @Route('deleteApplication')
  async delete(
    @Input() { params }: RouteInput<'deleteApplication'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
  ): Promise<void> {
    await this.applications.remove(params.id, ifMatch ?? null, caller.name);
  }

  private tagged(stored: StoredApplication, reply: FastifyReply): Application {
    const application = this.describe(stored);
    reply.header('etag', etagOf(application.revision));
    return application;
  }

  private describe(stored: StoredApplication): Application {
    const { definition, created_ms, updated_ms } = stored;
    const revision = this.applications.revisionOf(definition.id);
    return {
      id: definition.id,
      definition,
      revision,
      created_ms,
      updated_ms,
      status: this.supervision.statusOf(stored),
    };
  }
}

@Module({ controllers: [ApplicationsController], providers: [Applications, Supervision] })
export class ApplicationsModule {}
