import { Controller, Inject, Module, Res } from '@nestjs/common';
import type { Loop, RouteInput, SessionInfo } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import { Caller, Input, Route } from '../../platform/route.js';
import { LoopsService } from './loops.service.js';

@Controller()
class LoopsController {
  constructor(@Inject(LoopsService) private readonly loops: LoopsService) {}

  @Route('listLoops')
  list(@Input() { query }: RouteInput<'listLoops'>, @Res({ passthrough: true }) reply: FastifyReply) {
    return pageOf(this.loops.all(), query, ({ id }) => id, reply);
  }

  @Route('pauseLoop')
  pause(@Input() { params }: RouteInput<'pauseLoop'>, @Caller() caller: SessionInfo): Promise<Loop> {
    return this.loops.pause(params.id, caller.name);
  }

  @Route('resumeLoop')
  resume(@Input() { params }: RouteInput<'resumeLoop'>, @Caller() caller: SessionInfo): Promise<Loop> {
    return this.loops.resume(params.id, caller.name);
  }
}

@Module({ controllers: [LoopsController], providers: [LoopsService] })
export class LoopsModule {}
