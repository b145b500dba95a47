import {
  applyDecorators,
  createParamDecorator,
  Delete,
  type ExecutionContext,
  Get,
  HttpCode,
  Post,
  Put,
  SetMetadata,
} from '@nestjs/common';
import { ROUTES, type RouteDefinition, type RouteInput, type RouteName, type SessionInfo } from '@orrery/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { requireSelection } from './paging.js';
import type { Precondition } from './precondition.js';
import { parseOrRefuse } from './problem.js';

const ROUTE = Symbol('Route');
const VERBS = { GET: Get, POST: Post, PUT: Put, DELETE: Delete };

export interface ApiRequest extends FastifyRequest {
  session?: SessionInfo;
  routeName?: RouteName;
}

/** Binds a handler to a row of the contract's route table: path, role, status and input parsing. */
export function Route(name: RouteName): MethodDecorator {
  const route: RouteDefinition = ROUTES[name];
  const path = route.path.replaceAll(/\{(\w+)\}/g, ':$1');
  return applyDecorators(SetMetadata(ROUTE, name), VERBS[route.method](path), HttpCode(route.status));
}

export function routeOf(context: ExecutionContext): RouteName | undefined {
  return Reflect.getMetadata(ROUTE, context.getHandler()) as RouteName | undefined;
}

/** The parsed request: `RouteInput` of the handler's route. */
export const Input = createParamDecorator((_: unknown, context: ExecutionContext): RouteInput<RouteName> => {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  const route: RouteDefinition = ROUTES[routeOf(context)!];
  const part = (schema: RouteDefinition['body'], value: unknown, status: 400 | 422) =>
    schema ? parseOrRefuse(schema, value, status) : undefined;
  const query = part(route.query, request.query, 400) as Record<string, string> | undefined;
  requireSelection(route.response, query);
  return {
    params: part(route.params, request.params, 400),
    query,
    body: part(route.body, request.body, 422),
  } as RouteInput<RouteName>;
});

/** The session of the caller. */
export const Caller = createParamDecorator(
  (_: unknown, context: ExecutionContext): SessionInfo => context.switchToHttp().getRequest<ApiRequest>().session!,
);

/** Aborts when nobody waits for the answer any more. */
export const Gone = createParamDecorator((_: unknown, context: ExecutionContext): AbortSignal => {
  const { raw } = context.switchToHttp().getResponse<FastifyReply>();
  const gone = new AbortController();
  if (raw.destroyed) gone.abort();
  raw.once('close', () => gone.abort());
  return gone.signal;
});

/** What `If-Match` requires. */
export const IfMatch = createParamDecorator((_: unknown, context: ExecutionContext): Precondition => {
  const value = context.switchToHttp().getRequest<FastifyRequest>().headers['if-match'];
  if (value === undefined) return undefined;
  return value === '*' ? null : value.replace(/^W\//, '').replaceAll('"', '');
});

export function etagOf(revision: number | string): string {
  return `"${revision}"`;
}
