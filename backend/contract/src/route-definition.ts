import type { z } from 'zod';
import type { Role } from './lifecycle.js';

export type ProblemStatus =
  | 400
  | 401
  | 403
  | 404
  | 408
  | 409
  | 412
  | 413
  | 414
  | 415
  | 422
  | 428
  | 429
  | 431
  | 500
  | 502
  | 503;

export interface RouteDefinition {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `API_PREFIX`, with `{parameters}`. */
  readonly path: `/${string}`;
  readonly tag: string;
  readonly summary: string;
  /** Lowest role that may call it; null: no session needed. */
  readonly role: Role | null;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** A body that is not JSON. */
  readonly body_type?: 'application/octet-stream';
  /** Largest JSON body, where it is not `BODY_LIMIT_BYTES`. */
  readonly body_limit_bytes?: number;
  readonly status: 200 | 201 | 202 | 204;
  /** With 202: of a response after which no work continues; it has no `Location`. */
  readonly done_status?: 200;
  readonly response?: z.ZodType;
  readonly response_type?: 'text/event-stream' | 'application/json';
  /** Problem statuses beyond those that follow from the rest of the definition (`problemStatuses`). */
  readonly problems?: readonly (404 | 409 | 422 | 428 | 429 | 502)[];
  /** Asks twind: 409 if there is no twin, 502 if it does not answer. */
  readonly twin?: boolean;
  /** The response has `Location`; with 202 it names the operation that continues. */
  readonly location?: boolean;
  /** `Idempotency-Key` is honoured; not with a `body_type`, because the key is bound to the JSON body. */
  readonly creates?: boolean;
  /** The response has `ETag`; what changes a resource honours `If-Match` (`judgesIfMatch`), and PUT requires it to overwrite. */
  readonly etag?: boolean;
}

/** Preserves the literal type of each route. */
export const defineRoutes = <const T extends Record<string, RouteDefinition>>(routes: T): T => routes;
