import { Controller, Global, Inject, Module, Res } from '@nestjs/common';
import { API_PREFIX, type CataloguedNf, type LearnAnswer, type RouteInput, type SessionInfo } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import type { Precondition } from '../../platform/precondition.js';
import { invalid } from '../../platform/problem.js';
import { Caller, etagOf, IfMatch, Input, Route } from '../../platform/route.js';
import { DESCRIPTORS } from '../../ports/descriptor-catalogue.js';
import { Learner } from './learner.js';
import { NfDescriptorsService } from './nf-descriptors.service.js';

@Controller()
class NfDescriptorsController {
  constructor(
    @Inject(DESCRIPTORS) private readonly catalogue: NfDescriptorsService,
    @Inject(Learner) private readonly learner: Learner,
  ) {}

  @Route('listNfDescriptors')
  list(@Input() { query }: RouteInput<'listNfDescriptors'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const chosen = this.catalogue.listed().filter(({ category }) => !query.category || category === query.category);
    return pageOf(chosen, query, ({ id }) => id, reply);
  }

  @Route('createNfDescriptor')
  async create(
    @Input() { body }: RouteInput<'createNfDescriptor'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CataloguedNf> {
    await this.catalogue.create(body, caller.name);
    reply.header('location', `${API_PREFIX}/nf-descriptors/${body.id}`);
    return this.tagged(body.id, reply);
  }

  @Route('getNfDescriptor')
  get(
    @Input() { params }: RouteInput<'getNfDescriptor'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): CataloguedNf {
    return this.tagged(params.id, reply);
  }

  @Route('putNfDescriptor')
  async put(
    @Input() { params, body }: RouteInput<'putNfDescriptor'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CataloguedNf> {
    if (body.id !== params.id)
      throw invalid([{ pointer: '/id', detail: `does not match "${params.id}" in the URL`, code: 'mismatch' }]);
    await this.catalogue.put(body, ifMatch, caller.name);
    return this.tagged(body.id, reply);
  }

  @Route('deleteNfDescriptor')
  async delete(
    @Input() { params }: RouteInput<'deleteNfDescriptor'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
  ): Promise<void> {
    await this.catalogue.remove(params.id, ifMatch ?? null, caller.name);
  }

  @Route('learnNfDescriptor')
  learn(
    @Input() { params, body }: RouteInput<'learnNfDescriptor'>,
    @Caller() caller: SessionInfo,
  ): Promise<LearnAnswer> {
    return this.learner.learn(params.id, body, caller.name);
  }

  @Route('forgetNfDescriptor')
  forget(@Input() { params }: RouteInput<'forgetNfDescriptor'>, @Caller() caller: SessionInfo): Promise<void> {
    return this.catalogue.forget(params.id, caller.name);
  }

  private tagged(id: string, reply: FastifyReply): CataloguedNf {
    const found = this.catalogue.get(id);
    reply.header('etag', etagOf(found.written?.revision ?? 0));
    return found;
  }
}

@Global()
@Module({
  controllers: [NfDescriptorsController],
  providers: [{ provide: DESCRIPTORS, useClass: NfDescriptorsService }, Learner],
  exports: [DESCRIPTORS],
})
export class NfDescriptorsModule {}
