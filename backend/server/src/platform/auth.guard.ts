import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { ROUTES, type Role, type RouteDefinition } from '@orrery/contract';
import { SESSION_VERIFIER, type SessionVerifier } from '../ports/session-verifier.js';
import { ProblemError } from './problem.js';
import { type ApiRequest, routeOf } from './route.js';

const RANK: Record<Role, number> = { viewer: 0, operator: 1, designer: 2, admin: 3 };

/** Whether `role` includes the rights of `least`. */
export function mayAct(role: Role, least: Role): boolean {
  return RANK[role] >= RANK[least];
}

/** The token of an `Authorization` header (RFC 6750 2.1). */
export function bearerToken(header: string | undefined): string | null {
  return /^Bearer ([A-Za-z0-9_-]{1,200})$/.exec(header ?? '')?.[1] ?? null;
}

/** Allows a call if its bearer token has the role that the route table requires. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(@Inject(SESSION_VERIFIER) private readonly sessions: SessionVerifier) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const name = routeOf(context);
    if (!name) return true;
    const route: RouteDefinition = ROUTES[name];
    const request = context.switchToHttp().getRequest<ApiRequest>();
    request.routeName = name;
    if (route.role === null) return true;
    const token = bearerToken(request.headers.authorization);
    const session = token ? await this.sessions.verify(token) : null;
    if (!session)
      throw new ProblemError(401, 'Sign in: send a valid bearer token.', [], { 'www-authenticate': 'Bearer' });
    if (!mayAct(session.role, route.role))
      throw new ProblemError(403, `This needs the role ${route.role}; the session has ${session.role}.`);
    request.session = session;
    return true;
  }
}
