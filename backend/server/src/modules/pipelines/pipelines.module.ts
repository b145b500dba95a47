import { Controller, Global, Inject, Module, Res } from '@nestjs/common';
import { API_PREFIX, type Pipeline, type RouteInput, type SessionInfo, type ValidationResult } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import { Caller, etagOf, IfMatch, Input, Route } from '../../platform/route.js';
import { PIPELINES } from '../../ports/pipeline-store.js';
import { PipelinesService } from './pipelines.service.js';

@Controller()
class PipelinesController {
  constructor(@Inject(PipelinesService) private readonly pipelines: PipelinesService) {}

  @Route('listPipelines')
  async list(@Input() { query }: RouteInput<'listPipelines'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const all = await this.pipelines.list();
    const chosen = all.filter(
      (pipeline) =>
        (!query.name || pipeline.draft.name === query.name) &&
        (!query.deployment_state || pipeline.deployment_state === query.deployment_state),
    );
    return pageOf(chosen, query, ({ id }) => id, reply);
  }

  @Route('createPipeline')
  async create(
    @Input() { body }: RouteInput<'createPipeline'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Pipeline> {
    const pipeline = await this.pipelines.create(body, caller.name);
    reply.header('location', `${API_PREFIX}/pipelines/${pipeline.id}`);
    return tagged(pipeline, reply);
  }

  @Route('validatePipeline')
  validate(@Input() { body }: RouteInput<'validatePipeline'>): ValidationResult {
    const problems = this.pipelines.problemsOf(body);
    return { valid: problems.every(({ severity }) => severity !== 'error'), problems };
  }

  @Route('getPipeline')
  async get(
    @Input() { params }: RouteInput<'getPipeline'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Pipeline> {
    return tagged(await this.pipelines.get(params.id), reply);
  }

  @Route('putPipeline')
  async put(
    @Input() { params, body }: RouteInput<'putPipeline'>,
    @IfMatch() ifMatch: string | null,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Pipeline> {
    return tagged(await this.pipelines.save(params.id, body, ifMatch, caller.name), reply);
  }

  @Route('deletePipeline')
  async delete(
    @Input() { params }: RouteInput<'deletePipeline'>,
    @IfMatch() ifMatch: string | null,
    @Caller() caller: SessionInfo,
  ): Promise<void> {
    await this.pipelines.delete(params.id, ifMatch, caller.name);
  }

  @Route('listPipelineVersions')
  async versions(
    @Input() { params, query }: RouteInput<'listPipelineVersions'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return pageOf(await this.pipelines.versions(params.id), query, ({ version }) => String(version), reply);
  }

  @Route('publishPipeline')
  async publish(
    @Input() { params, body }: RouteInput<'publishPipeline'>,
    @IfMatch() ifMatch: string | null,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const version = await this.pipelines.publish(params.id, body.note, ifMatch, caller.name);
    reply.header('location', `${API_PREFIX}/pipelines/${params.id}/versions/${version.version}`);
    const { revision } = await this.pipelines.get(params.id);
    reply.header('etag', etagOf(revision));
    return version;
  }

  @Route('getPipelineVersion')
  version(@Input() { params }: RouteInput<'getPipelineVersion'>) {
    return this.pipelines.version(params.id, params.version);
  }
}

function tagged(pipeline: Pipeline, reply: FastifyReply): Pipeline {
  reply.header('etag', etagOf(pipeline.revision));
  return pipeline;
}

@Global()
@Module({
  controllers: [PipelinesController],
  providers: [PipelinesService, { provide: PIPELINES, useExisting: PipelinesService }],
  exports: [PIPELINES],
})
export class PipelinesModule {}
