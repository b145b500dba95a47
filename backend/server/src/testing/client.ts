import {
  API_PREFIX,
  Problem,
  problemStatuses,
  ROUTES,
  type RouteDefinition,
  type RouteName,
  type RouteResponse,
} from '@orrery/contract';
import { type BodyInit, type Dispatcher, fetch, type Headers } from 'undici';

export interface Answer<T = unknown> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

export interface CallOptions {
  readonly params?: Record<string, string | number>;
  readonly query?: Record<string, string | number>;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** By default PUT sends `If-Match: *` where `headers` have no other. */
  readonly withoutIfMatch?: boolean;
}

/** Calls the API and validates each response against the contract. */
export class ApiClient {
  constructor(
    readonly url: string,
    readonly token: string | null,
    private readonly dispatcher?: Dispatcher,
  ) {}

  as(token: string | null): ApiClient {
    return new ApiClient(this.url, token, this.dispatcher);
  }

  /** Returns the response whatever its status. */
  async request(name: RouteName, options: CallOptions = {}): Promise<Answer> {
    const route: RouteDefinition = ROUTES[name];
    const path = route.path.replaceAll(/\{(\w+)\}/g, (_, key: string) =>
      encodeURIComponent(options.params?.[key] ?? key),
    );
    const url = new URL(`${API_PREFIX}${path}`, this.url);
    for (const [key, value] of Object.entries(options.query ?? {})) url.searchParams.set(key, String(value));
    const response = await fetch(url, {
      dispatcher: this.dispatcher,
      method: route.method,
      headers: {
        ...(this.token ? { authorization: `Bearer ${this.token}` } : {}),
        ...(route.method === 'PUT' && route.etag && !options.withoutIfMatch ? { 'if-match': '*' } : {}),
        ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      body: options.body === undefined ? undefined : (options.body as BodyInit),
    });
    const text = await response.text();
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    if (response.ok) {
      if (response.status !== route.status && response.status !== route.done_status)
        throw new Error(`${name} answered ${response.status}, not ${route.status}`);
      route.response?.parse(body);
    } else requireProblem(name, response, body);
    return { status: response.status, headers: response.headers, body };
  }

  /** The body of a successful response. Throws on any other. */
  async call<N extends RouteName>(name: N, options: CallOptions = {}): Promise<RouteResponse<N>> {
    const { body: given } = options;
    const body = given === undefined ? undefined : JSON.stringify(given);
    const answer = await this.request(name, { ...options, body });
    if (answer.status >= 300) throw new Error(`${name}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body as RouteResponse<N>;
  }
}

/** Every refusal is problem details, with a status that OpenAPI declares for the route. */
export function requireProblem(
  name: RouteName,
  response: { status: number; headers: Headers },
  body: unknown,
): Problem {
  const { status, headers } = response;
  const type = headers.get('content-type');
  if (!type?.startsWith('application/problem+json')) throw new Error(`${name} answered ${status} with ${type}`);
  const problem = Problem.parse(body);
  const declared: readonly number[] = problemStatuses(ROUTES[name]);
  if (problem.status !== status || !declared.includes(status)) throw new Error(`${name} does not declare ${status}`);
  if (status === 422 && !problem.errors?.length) throw new Error(`${name} names no field: ${problem.detail}`);
  return problem;
}
