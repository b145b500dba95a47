import { Controller, Inject, Res } from '@nestjs/common';
import { API_PREFIX, type NfRef, type RouteInput, type ScalingPolicy, type SessionInfo } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import type { Precondition } from '../../platform/precondition.js';
import { conflict, invalid, ProblemError } from '../../platform/problem.js';
import { Caller, etagOf, IfMatch, Input, Route } from '../../platform/route.js';
import { CHAINS, type ChainStore } from '../../ports/chain-store.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { NOT_KEPT_CHAINS, type NotKeptChains } from '../../ports/not-kept-chains.js';
import { ScalingPolicies, type StoredScalingPolicy } from './policies.js';
import { whyNotOfOthers } from './running-nf.js';
import { ScalingLoop } from './scaling-loop.js';

@Controller()
export class ScalingPoliciesController {
  constructor(
    @Inject(ScalingPolicies) private readonly policies: ScalingPolicies,
    @Inject(ScalingLoop) private readonly loop: ScalingLoop,
    @Inject(CHAINS) private readonly chains: ChainStore,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(NOT_KEPT_CHAINS) private readonly notKept: NotKeptChains,
  ) {}

  @Route('listScalingPolicies')
  list(@Input() { query }: RouteInput<'listScalingPolicies'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const described = this.policies.all().map((policy) => this.loop.describe(policy));
    return pageOf(described, query, ({ id }) => id, reply);
  }

  @Route('createScalingPolicy')
  async create(
    @Input() { body }: RouteInput<'createScalingPolicy'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ScalingPolicy> {
    await this.requireNf(body.nf);
    const policy = await this.policies.add(body, caller.name);
    reply.header('location', `${API_PREFIX}/scaling-policies/${policy.id}`);
    return this.tagged(policy, reply);
  }

  @Route('getScalingPolicy')
  get(
    @Input() { params }: RouteInput<'getScalingPolicy'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): ScalingPolicy {
    return this.tagged(this.policies.get(params.id), reply);
  }

  @Route('putScalingPolicy')
  async put(
    @Input() { params, body }: RouteInput<'putScalingPolicy'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ScalingPolicy> {
    const { nf } = this.policies.get(params.id);
    if (nf.chain_id !== body.nf.chain_id || nf.node_id !== body.nf.node_id) await this.requireNf(body.nf);
    return this.tagged(await this.policies.replace(params.id, body, ifMatch, caller.name), reply);
  }

  @Route('deleteScalingPolicy')
  delete(
    @Input() { params }: RouteInput<'deleteScalingPolicy'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
  ): Promise<void> {
    return this.policies.remove(params.id, ifMatch ?? null, caller.name);
  }

  /** Throws 409 where the chain belongs to another loop, and 422: neither what runs of it nor its draft has the NF. */
  private async requireNf({ chain_id, node_id }: NfRef): Promise<void> {
    const owner = this.notKept.ownerOf(chain_id);
    if (owner !== null)
      throw conflict(whyNotOfOthers(owner), [
        { pointer: '/nf/chain_id', detail: `belongs to ${owner}`, code: 'of-others' },
      ]);
    const running = this.view.comingPlan?.chains.find((chain) => chain.chain_id === chain_id)?.definition;
    const draft = running ?? (await this.chains.get(chain_id).catch(gone))?.draft;
    if (!draft)
      throw invalid([{ pointer: '/nf/chain_id', detail: `there is no chain ${chain_id}`, code: 'unknown-chain' }]);
    if (draft.nodes.some(({ id, kind }) => id === node_id && kind === 'nf')) return;
    const detail = `${draft.name} has no NF ${node_id}`;
    throw invalid([{ pointer: '/nf/node_id', detail, code: 'unknown-nf' }]);
  }

  private tagged(policy: StoredScalingPolicy, reply: FastifyReply): ScalingPolicy {
    const described = this.loop.describe(policy);
    reply.header('etag', etagOf(described.revision));
    return described;
  }
}

function gone(error: unknown): null {
  if (error instanceof ProblemError && error.status === 404) return null;
  throw error;
}
