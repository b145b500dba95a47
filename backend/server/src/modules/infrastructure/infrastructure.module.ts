import { Controller, Global, Inject, Module, Res } from '@nestjs/common';
import type { Infrastructure, RouteInput, SessionInfo } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import type { Precondition } from '../../platform/precondition.js';
import { Caller, etagOf, IfMatch, Input, Route } from '../../platform/route.js';
import { INFRASTRUCTURE } from '../../ports/infrastructure-store.js';
import { InfrastructureService } from './infrastructure.service.js';

@Controller()
class InfrastructureController {
  constructor(@Inject(InfrastructureService) private readonly infrastructure: InfrastructureService) {}

  @Route('getInfrastructure')
  get(@Res({ passthrough: true }) reply: FastifyReply): Infrastructure {
    const { revision, infrastructure } = this.infrastructure.current;
    reply.header('etag', etagOf(revision));
    return infrastructure;
  }

  @Route('putInfrastructure')
  async put(
    @Input() { body }: RouteInput<'putInfrastructure'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Infrastructure> {
    const { revision, infrastructure } = await this.infrastructure.replace(body, ifMatch, caller.name);
    reply.header('etag', etagOf(revision));
    return infrastructure;
  }
}

@Global()
@Module({
  controllers: [InfrastructureController],
  providers: [InfrastructureService, { provide: INFRASTRUCTURE, useExisting: InfrastructureService }],
  exports: [INFRASTRUCTURE],
})
export class InfrastructureModule {}
