import type { FieldError, Problem, Session } from '@orrery/contract';
import { type CallInput, type CallResult, PATHS, type RouteName } from './routes.js';
import { readServerClock, serverNow } from './server-clock.js';
import { type Ending, sessionStore, signOut } from './session.js';

export const API = '/api/v1';

/** A refused or failed request. `errors` name the invalid fields by JSON Pointer. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  constructor(
    readonly problem: Problem,
    /** The server could not be reached at all. */
    readonly unreachable = false,
  ) {
    super(problem.detail ?? problem.title);
  }
  get status(): number {
    return this.problem.status;
  }
  get errors(): readonly FieldError[] {
    return this.problem.errors ?? [];
  }
}

export interface CallOptions {
  /** ETag that the resource must still have. */
  readonly ifMatch?: string;
  /** Makes a repeated request idempotent. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

interface Wire extends CallOptions {
  readonly method: string;
  readonly query?: Readonly<Record<string, unknown>>;
  /** A `Blob` is sent as it is, anything else as JSON. */
  readonly body?: unknown;
}

export interface Answer<T> {
  readonly data: T;
  readonly etag: string | null;
  /** Id of the operation that carries out the request (202). */
  readonly location: string | null;
  /** Whole path of the next page of a collection. */
  readonly next: string | null;
}

async function problemOf(response: Response): Promise<Problem> {
  const fallback: Problem = {
    type: 'about:blank',
    title: response.statusText || `HTTP ${response.status}`,
    status: response.status,
  };
  try {
    const body = (await response.json()) as Partial<Problem>;
    return typeof body.title === 'string' ? { ...fallback, ...body } : fallback;
  } catch {
    return fallback;
  }
}

/** The server tells its time in whole seconds, and an answer was on its way. */
const CLOCK_MARGIN_MS = 5000;

/** Why the server does not know a session. */
function endingOf({ expires_ms }: Session, { errors = [] }: Problem): Ending {
  if (expires_ms <= serverNow() + CLOCK_MARGIN_MS) return 'expired';
  return errors.some(({ code }) => code === 'signed-out') ? 'signed-out' : 'unknown';
}

function nextOf(link: string | null): string | null {
  const target = link?.split(',').find((part) => /rel="?next"?/.test(part));
  return target ? (/<([^>]+)>/.exec(target)?.[1] ?? null) : null;
}

async function send<T>(path: string, wire: Wire): Promise<Answer<T>> {
  const { method, body, ifMatch, idempotencyKey, query, signal } = wire;
  const url = new URL(path, window.location.origin);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== '') url.searchParams.set(name, String(value));
  }
  const headers = new Headers({ accept: 'application/json, application/problem+json' });
  const { session } = sessionStore.getState();
  if (session) headers.set('authorization', `Bearer ${session.token}`);
  if (ifMatch) headers.set('if-match', ifMatch);
  if (idempotencyKey) headers.set('idempotency-key', idempotencyKey);
  const isFile = body instanceof Blob;
  if (isFile) headers.set('content-type', 'application/octet-stream');
  else if (body !== undefined) headers.set('content-type', 'application/json');

  let response: Response;
  try {
    const content = isFile ? body : body === undefined ? undefined : JSON.stringify(body);
    response = await fetch(url, { method, headers, body: content, signal });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(
      { type: 'about:blank', title: 'The server does not answer', status: 0, detail: 'The server cannot be reached.' },
      true,
    );
  }
  readServerClock(response);
  if (!response.ok) {
    const problem = await problemOf(response);
    if (response.status === 401 && session) signOut(session.token, endingOf(session, problem));
    throw new ApiError(problem, response.status === 504);
  }
  const text = response.status === 204 ? '' : await response.text();
  return {
    data: (text ? JSON.parse(text) : undefined) as T,
    etag: response.headers.get('etag'),
    location: response.headers.get('location'),
    next: nextOf(response.headers.get('link')),
  };
}

/** One call of the API by its name in the contract, with the response headers. Throws `ApiError`. */
export function callFull<N extends RouteName>(
  name: N,
  input: CallInput<N>,
  options: CallOptions = {},
): Promise<Answer<CallResult<N>>> {
  const { params, query, body } = input as { params?: object; query?: Record<string, unknown>; body?: unknown };
  const [method, template] = PATHS[name];
  const values = new Map(Object.entries(params ?? {}));
  const path = template.replace(/\{(\w+)\}/g, (_, field: string) => encodeURIComponent(String(values.get(field))));
  return send(API + path, { method, query, body, ...options });
}

/** One call of the API by its name in the contract. Throws `ApiError`. */
export async function call<N extends RouteName>(
  name: N,
  input: CallInput<N>,
  options?: CallOptions,
): Promise<CallResult<N>> {
  return (await callFull(name, input, options)).data;
}

/** The next page of a collection, by `next` of the previous response. */
export function followPage<T>(next: string, signal?: AbortSignal): Promise<Answer<T>> {
  return send<T>(next, { method: 'GET', signal });
}

/** Stores a packet capture for replay. */
export async function uploadPcap(name: string, content: Blob): Promise<CallResult<'uploadPcap'>> {
  const [method, path] = PATHS.uploadPcap;
  return (await send<CallResult<'uploadPcap'>>(API + path, { method, query: { name }, body: content })).data;
}
