import { Controller, Global, Inject, Module, Req } from '@nestjs/common';
import type { RouteInput, Session, SessionInfo } from '@orrery/contract';
import type { FastifyRequest } from 'fastify';
import { bearerToken } from '../../platform/auth.js';
import { Caller, Input, Route } from '../../platform/route.js';
import { SESSION_ISSUER, SESSION_VERIFIER } from '../../ports/session-verifier.js';
import { SessionsService } from './sessions.service.js';

@Controller()
class SessionsController {
  constructor(@Inject(SessionsService) private readonly sessions: SessionsService) {}

  @Route('createSession')
  create(@Input() input: RouteInput<'createSession'>, @Req() request: FastifyRequest): Promise<Session> {
    return this.sessions.open(input.body, request.ip);
  }

  @Route('getSession')
  get(@Caller() caller: SessionInfo): SessionInfo {
    return caller;
  }

  @Route('deleteSession')
  async delete(@Req() request: FastifyRequest, @Caller() caller: SessionInfo): Promise<void> {
    await this.sessions.end(bearerToken(request.headers.authorization)!, caller);
  }
}

@Global()
@Module({
  controllers: [SessionsController],
  providers: [
    SessionsService,
    { provide: SESSION_VERIFIER, useExisting: SessionsService },
    { provide: SESSION_ISSUER, useExisting: SessionsService },
  ],
  exports: [SESSION_VERIFIER, SESSION_ISSUER],
})
export class SessionsModule {}
