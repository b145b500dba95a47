import type { ProblemStatus, RouteDefinition } from './route-definition.js';

/** Any request: malformed, too slow, headers too large; the server fails or its store is away. */
const ANY: readonly ProblemStatus[] = [400, 408, 431, 500, 503];

/** Whether `If-Match` is judged: by what changes a resource, but not where a collection gets a new one. */
export function judgesIfMatch({ method, etag, creates, params }: RouteDefinition): boolean {
  return etag === true && method !== 'GET' && !(creates && !params);
}

/**
 * Statuses of the problems that a route may return, ascending: those that follow from its definition, and its own.
 * The server reads and checks a body with every method but GET, whether or not the route wants one.
 */
export function problemStatuses(route: RouteDefinition): ProblemStatus[] {
  const statuses: ProblemStatus[] = [
    ...ANY,
    ...(route.role === null ? ([401, 429] as const) : ([401, 403] as const)),
    ...(route.params ? ([414] as const) : []),
    ...(route.method === 'GET' ? [] : ([413, 415, 422] as const)),
    ...(judgesIfMatch(route) ? ([412] as const) : []),
    ...(route.etag && route.method === 'PUT' ? ([428] as const) : []),
    ...(route.creates ? ([409] as const) : []),
    ...(route.twin ? ([409, 502] as const) : []),
    ...(route.problems ?? []),
  ];
  return [...new Set(statuses)].sort((a, b) => a - b);
}
