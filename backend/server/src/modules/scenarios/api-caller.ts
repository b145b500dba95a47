import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import {
  API_PREFIX,
  type Infrastructure,
  type Problem,
  ROUTES,
  type Role,
  type RouteDefinition,
  type RouteName,
  type RouteResponse,
} from '@orrery/contract';
import type { FastifyInstance } from 'fastify';
import { SESSION_ISSUER, type SessionIssuer } from '../../ports/session-verifier.js';

/** Attempts to change what others change at the same time. */
export const MOST_ATTEMPTS = 5;

interface CallOptions {
  readonly params?: Record<string, string>;
  readonly query?: Record<string, string | number>;
  /** Bytes where the route takes no JSON. */
  readonly body?: unknown;
}

/** In-process access to the public API: a scenario can do only what a user can, with the same checks. */
@Injectable()
export class ApiCaller {
  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(SESSION_ISSUER) private readonly sessions: SessionIssuer,
  ) {}

  /** Opens a separate session, so that events name the actor. */
  async as(name: string, role: Role): Promise<Api> {
    const token = await this.sessions.issue(role, name);
    return {
      call: async (route, options = {}) => (await this.ask(token, route, options)).data,
      changeInfrastructure: (change) => this.changeInfrastructure(token, change),
      end: () => this.sessions.close(token),
    };
  }

  private async changeInfrastructure(token: string, change: (now: Infrastructure) => Infrastructure): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const { data, etag } = await this.ask(token, 'getInfrastructure', {});
      try {
        await this.ask(token, 'putInfrastructure', { body: change(data) }, etag);
        return;
      } catch (error) {
        if (!(error instanceof ChangedMeanwhile) || attempt === MOST_ATTEMPTS) throw error;
      }
    }
  }

  private async ask<N extends RouteName>(
    token: string,
    name: N,
    options: CallOptions,
    ifMatch = '*',
  ): Promise<{ data: RouteResponse<N>; etag: string | undefined }> {
    const route: RouteDefinition = ROUTES[name];
    const path = route.path.replaceAll(/\{(\w+)\}/g, (_, key: string) =>
      encodeURIComponent(options.params?.[key] ?? ''),
    );
    const server = this.host.httpAdapter.getInstance<FastifyInstance>();
    const answer = await server.inject({
      method: route.method,
      url: `${API_PREFIX}${path}`,
      headers: {
        authorization: `Bearer ${token}`,
        ...(route.method === 'PUT' && route.etag ? { 'if-match': ifMatch } : {}),
        ...(route.body_type ? { 'content-type': route.body_type } : {}),
      },
      ...(options.query
        ? { query: Object.fromEntries(Object.entries(options.query).map(([k, v]) => [k, `${v}`])) }
        : {}),
      ...(options.body === undefined ? {} : { payload: options.body as object }),
    });
    if (answer.statusCode === 503) throw new Unavailable(`${name}: ${refusal(answer.body)}`);
    if (answer.statusCode === 412 || (answer.statusCode === 409 && isStalePlan(answer.body)))
      throw new ChangedMeanwhile(`${name}: ${refusal(answer.body)}`);
    if (answer.statusCode >= 300) throw new Error(`${name}: ${refusal(answer.body)}`);
    const data = (answer.body === '' ? undefined : answer.json()) as RouteResponse<N>;
    return { data, etag: answer.headers.etag?.toString() };
  }
}

/** A dependency of the API is away, such as a restarting store; the outcome of the call is unknown. */
export class Unavailable extends Error {}

/** Somebody else changed what the call builds on since that was read or planned. */
export class ChangedMeanwhile extends Error {}

export interface Api {
  /** Throws with the problem's detail if the API refuses. */
  call<N extends RouteName>(name: N, options?: CallOptions): Promise<RouteResponse<N>>;
  /** From what it is now: where somebody else changed it meanwhile, it is read and changed again. */
  changeInfrastructure(change: (now: Infrastructure) => Infrastructure): Promise<void>;
  /** Ends the session. */
  end(): Promise<void>;
}

function refusal(body: string): string {
  const { detail, title } = problemIn(body) ?? {};
  return detail ?? title ?? 'no answer';
}

function isStalePlan(body: string): boolean {
  return problemIn(body)?.errors?.some(({ code }) => code === 'stale-plan') ?? false;
}

function problemIn(body: string): Problem | null {
  try {
    return JSON.parse(body) as Problem;
  } catch {
    return null;
  }
}
