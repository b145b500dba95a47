import type { z } from 'zod';
import type { Role } from './lifecycle.js';

export interface RouteDefinition {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `API_PREFIX`, with `{parameters}`. */
  readonly path: `/${string}`;
  readonly tag: string;
  readonly summary: string;
  /** The least role that may call it; null: everyone. */
  readonly role: Role | null;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** A body that is not JSON. */
  readonly body_type?: 'application/octet-stream';
  readonly status: 200 | 201 | 202 | 204;
  readonly response?: z.ZodType;
  readonly response_type?: 'text/event-stream' | 'application/json';
  /** Problems beyond those that every route may answer with (400, 401, 403, 429, 500, 503). */
  readonly problems?: readonly (404 | 409 | 412 | 413 | 415 | 422 | 502)[];
  /** The answer has `Location`. */
  readonly location?: boolean;
  /** `Idempotency-Key` is honoured; not with a `body_type`, because the key stands for the body's JSON. */
  readonly creates?: boolean;
  /** The answer has `ETag`; `If-Match` is honoured by methods that change. */
  readonly etag?: boolean;
}

/** Keeps the exact type of each route. */
export const defineRoutes = <const T extends Record<string, RouteDefinition>>(routes: T): T => routes;
