import { Controller, Inject, Res } from '@nestjs/common';
import { API_PREFIX, type ReconfigurationPolicy, type RouteInput, type SessionInfo } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../../platform/paging.js';
import type { Precondition } from '../../../platform/precondition.js';
import { Caller, etagOf, IfMatch, Input, Route } from '../../../platform/route.js';
import { References } from '../requests/references.js';
import { Policies, type StoredPolicy } from './policies.js';
import { PolicyWatcher } from './policy-watcher.js';

@Controller()
export class PoliciesController {
  constructor(
    @Inject(Policies) private readonly policies: Policies,
    @Inject(PolicyWatcher) private readonly watcher: PolicyWatcher,
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
    return this.tagged(policy, reply);
  }

  @Route('getReconfigurationPolicy')
  get(
    @Input() { params }: RouteInput<'getReconfigurationPolicy'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): ReconfigurationPolicy {
    return this.tagged(this.policies.get(params.id), reply);
  }

  @Route('putReconfigurationPolicy')
  async put(
    @Input() { params, body }: RouteInput<'putReconfigurationPolicy'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ReconfigurationPolicy> {
    const replaced = await this.policies.replace(params.id, body, ifMatch, caller.name, ({ nf, displaces }) =>
      this.references.require(body, 'board', [nf, ...displaces]),
    );
    return this.tagged(replaced, reply);
  }

  @Route('deleteReconfigurationPolicy')
  delete(
    @Input() { params }: RouteInput<'deleteReconfigurationPolicy'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
  ): Promise<void> {
    return this.policies.remove(params.id, ifMatch ?? null, caller.name);
  }

  private tagged(policy: StoredPolicy, reply: FastifyReply): ReconfigurationPolicy {
    const described = this.watcher.describe(policy);
    reply.header('etag', etagOf(described.revision));
    return described;
  }
}
