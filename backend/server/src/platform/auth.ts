import { API_PREFIX, ROUTES, type Role, type RouteDefinition, type RouteName } from '@orrery/contract';
import type { FastifyInstance } from 'fastify';
import type { SessionVerifier } from '../ports/session-verifier.js';
import { ProblemError } from './problem.js';
import type { ApiRequest } from './route.js';

const RANK: Record<Role, number> = { viewer: 0, operator: 1, designer: 2, admin: 3 };
/** Largest body of a request that needs no session. */
const GUEST_BODY_BYTES = 4096;

const NAMES = new Map(
  Object.entries<RouteDefinition>(ROUTES).map(([name, { method, path }]) => [
    `${method} ${API_PREFIX}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
    name as RouteName,
  ]),
);

/** Whether `role` includes the rights of `least`. */
export function mayAct(role: Role, least: Role): boolean {
  return RANK[role] >= RANK[least];
}

/** The token of an `Authorization` header (RFC 6750 2.1). */
export function bearerToken(header: string | undefined): string | null {
  return /^Bearer ([A-Za-z0-9_-]{1,200})$/.exec(header ?? '')?.[1] ?? null;
}

const CHALLENGE = { 'www-authenticate': 'Bearer' };

export const signInFirst = () => new ProblemError(401, 'Sign in: send a valid bearer token.', [], CHALLENGE);

const WHY_NONE = {
  'signed-out': 'is of a session that was signed out',
  unknown: 'is of no session: it has expired, or the server does not know it',
};

function signInAnew(why: keyof typeof WHY_NONE): ProblemError {
  const error = { pointer: '', header: 'authorization', detail: WHY_NONE[why], code: why };
  return new ProblemError(401, `Sign in anew: the token ${WHY_NONE[why]}.`, [error], CHALLENGE);
}

/**
 * Allows a call if its bearer token has the role that the route table requires. Decided before the body is read: without
 * a session a request costs its headers and at most a small body.
 */
export function authenticate(fastify: FastifyInstance, sessions: SessionVerifier): void {
  fastify.addHook('onRoute', (route) => {
    const name = routeNameOf(String(route.method), route.url);
    if (!name) return;
    const { role, body_limit_bytes }: RouteDefinition = ROUTES[name];
    if (role === null) route.bodyLimit = GUEST_BODY_BYTES;
    else if (body_limit_bytes !== undefined) route.bodyLimit = body_limit_bytes;
  });
  fastify.addHook('onRequest', async (request: ApiRequest) => {
    const name = routeNameOf(request.method, request.routeOptions.url ?? '');
    if (!name) return;
    request.routeName = name;
    const least = (ROUTES[name] as RouteDefinition).role;
    if (least === null) return;
    request.session = await requireRole(sessions, request.headers.authorization, least);
  });
}

/** Throws 401 or 403. */
export async function requireRole(sessions: SessionVerifier, authorization: string | undefined, least: Role) {
  const token = bearerToken(authorization);
  if (!token) throw signInFirst();
  const session = await sessions.verify(token);
  if (!session) throw signInAnew(await sessions.whyNone(token));
  if (!mayAct(session.role, least))
    throw new ProblemError(403, `This needs the role ${least}; the session has ${session.role}.`);
  return session;
}

function routeNameOf(method: string, url: string): RouteName | undefined {
  return NAMES.get(`${method === 'HEAD' ? 'GET' : method} ${url}`);
}
