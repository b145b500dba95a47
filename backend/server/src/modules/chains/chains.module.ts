import { Controller, Global, Inject, Module, Res } from '@nestjs/common';
import { API_PREFIX, type Chain, type RouteInput, type SessionInfo, type ValidationResult } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import type { Precondition } from '../../platform/precondition.js';
import { Caller, etagOf, IfMatch, Input, Route } from '../../platform/route.js';
import { CHAINS } from '../../ports/chain-store.js';
import { ChainChecker } from './chain-checker.js';
import { ChainsService } from './chains.service.js';

@Controller()
class ChainsController {
  constructor(@Inject(ChainsService) private readonly chains: ChainsService) {}

  @Route('listChains')
  async list(@Input() { query }: RouteInput<'listChains'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const all = await this.chains.list();
    const chosen = all.filter(
      (chain) =>
        (!query.name || chain.draft.name === query.name) &&
        (!query.deployment_state || chain.deployment_state === query.deployment_state),
    );
    return pageOf(chosen, query, ({ id }) => id, reply);
  }

  @Route('createChain')
  async create(
    @Input() { body }: RouteInput<'createChain'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Chain> {
    const chain = await this.chains.create(body, caller.name);
    reply.header('location', `${API_PREFIX}/chains/${chain.id}`);
    return tagged(chain, reply);
  }

  @Route('validateChain')
  async validate(@Input() { body }: RouteInput<'validateChain'>): Promise<ValidationResult> {
    const problems = await this.chains.problemsOf(body);
    return { valid: problems.every(({ severity }) => severity !== 'error'), problems };
  }

  @Route('getChain')
  async get(
    @Input() { params }: RouteInput<'getChain'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Chain> {
    return tagged(await this.chains.get(params.id), reply);
  }

  @Route('putChain')
  async put(
    @Input() { params, body }: RouteInput<'putChain'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Chain> {
    return tagged(await this.chains.save(params.id, body, ifMatch, caller.name), reply);
  }

  @Route('deleteChain')
  async delete(
    @Input() { params }: RouteInput<'deleteChain'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
  ): Promise<void> {
    await this.chains.delete(params.id, ifMatch ?? null, caller.name);
  }

  @Route('listChainVersions')
  async versions(
    @Input() { params, query }: RouteInput<'listChainVersions'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return pageOf(await this.chains.versions(params.id), query, ({ version }) => String(version), reply);
  }

  @Route('publishChain')
  async publish(
    @Input() { params, body }: RouteInput<'publishChain'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const version = await this.chains.publish(params.id, body.note, ifMatch ?? null, caller.name);
    reply.header('location', `${API_PREFIX}/chains/${params.id}/versions/${version.version}`);
    const { revision } = await this.chains.get(params.id);
    reply.header('etag', etagOf(revision));
    return version;
  }

  @Route('getChainVersion')
  version(@Input() { params }: RouteInput<'getChainVersion'>) {
    return this.chains.version(params.id, params.version);
  }
}

function tagged(chain: Chain, reply: FastifyReply): Chain {
  reply.header('etag', etagOf(chain.revision));
  return chain;
}

@Global()
@Module({
  controllers: [ChainsController],
  providers: [ChainsService, ChainChecker, { provide: CHAINS, useExisting: ChainsService }],
  exports: [CHAINS],
})
export class ChainsModule {}
