import { Controller, Inject, Module, Res } from '@nestjs/common';
import {
  API_PREFIX,
  type Reconfiguration,
  type ReconfigurationPolicy,
  type RouteInput,
  type SessionInfo,
} from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import { notFound } from '../../platform/problem.js';
import { Caller, Input, Route } from '../../platform/route.js';
import { Conductor } from './conductor.js';
import { Detection } from './detection.js';
import { ReconfigurationManager } from './manager.js';
import { NfLoads } from './nf-loads.js';
import { Policies } from './policies.js';
import { PolicySweeper } from './policy-sweeper.js';
import { Records } from './records.js';
import { References } from './references.js';
import { Watcher } from './watcher.js';

@Controller()
class PoliciesController {
  constructor(
    @Inject(Policies) private readonly policies: Policies,
    @Inject(Watcher) private readonly watcher: Watcher,
    @Inject(References) private readonly references: References,
  ) {}

  @Route('listReconfigurationPolicies')
  list(@Input() { query }: RouteInput<'listReconfigurationPolicies'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const described = this.policies.all().map((policy) => this.watcher.describe(policy));
    return pageOf(described, query, ({ id }) => id, reply);
  }

  @Route('createReconfigurationPolicy')
  async create(
    @Input() { body }: RouteInput<'createReconfigurationPolicy'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ReconfigurationPolicy> {
    this.references.require(body, 'board');
    const policy = await this.policies.add(body, caller.name);
    reply.header('location', `${API_PREFIX}/reconfiguration-policies/${policy.id}`);
    return this.watcher.describe(policy);
  }

  @Route('putReconfigurationPolicy')
  async put(
    @Input() { params, body }: RouteInput<'putReconfigurationPolicy'>,
    @Caller() caller: SessionInfo,
  ): Promise<ReconfigurationPolicy> {
    const replaced = await this.policies.replace(params.id, body, caller.name, ({ nf, displaces }) =>
      this.references.require(body, 'board', [nf, ...displaces]),
    );
    return this.watcher.describe(replaced);
  }

  @Route('deleteReconfigurationPolicy')
  delete(@Input() { params }: RouteInput<'deleteReconfigurationPolicy'>, @Caller() caller: SessionInfo): Promise<void> {
    return this.policies.remove(params.id, caller.name);
  }
}

@Controller()
class ReconfigurationsController {
  constructor(
    @Inject(Records) private readonly records: Records,
    @Inject(ReconfigurationManager) private readonly manager: ReconfigurationManager,
    @Inject(Watcher) private readonly watcher: Watcher,
  ) {}

  @Route('listReconfigurations')
  list(@Input() { query }: RouteInput<'listReconfigurations'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const chosen = this.records.all().filter(({ state }) => !query.state || state === query.state);
    return pageOf(chosen, query, ({ id }) => id, reply);
  }

  @Route('getReconfiguration')
  get(@Input() { params }: RouteInput<'getReconfiguration'>): Reconfiguration {
    const run = this.records.find(params.id);
    if (!run) throw notFound('reconfiguration', params.id);
    return run;
  }

  @Route('createReconfiguration')
  async create(
    @Input() { body }: RouteInput<'createReconfiguration'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Reconfiguration> {
    const cause = this.watcher.causeOf('manual', `asked for by ${caller.name}`, caller.name);
    const run = await this.manager.request(body, cause);
    reply.header('location', `${API_PREFIX}/reconfigurations/${run.id}`);
    return run;
  }
}

@Module({
  controllers: [PoliciesController, ReconfigurationsController],
  providers: [
    Policies,
    References,
    PolicySweeper,
    Records,
    NfLoads,
    Detection,
    Conductor,
    ReconfigurationManager,
    Watcher,
  ],
})
export class ReconfigurationModule {}
