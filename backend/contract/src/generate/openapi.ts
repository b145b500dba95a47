import type { z } from 'zod';
import { API_PREFIX, ROUTES } from '../api.js';
import type { ProblemStatus, RouteDefinition } from '../route-definition.js';
import { judgesIfMatch, problemStatuses } from '../route-problems.js';
import { SchemaWriter } from './json-schema.js';

const PROBLEM_TITLES: Readonly<Record<ProblemStatus, string>> = {
  400: 'Malformed request',
  401: 'No valid session',
  403: 'Not allowed for this role',
  404: 'No such resource',
  408: 'The request did not arrive in time',
  409: 'Conflict with the current state',
  412: 'The resource has changed since it was read (If-Match)',
  413: 'Body too large',
  414: 'A part of the path is too long',
  415: 'Unsupported media type',
  422: 'Well-formed, but a field is invalid; see `errors`',
  428: 'If-Match is required to overwrite the resource',
  429: 'Too many attempts',
  431: 'Headers too large',
  500: 'Internal error',
  502: 'The twin or an agent failed or rejected the request',
  503: 'The store is temporarily unavailable',
};

const IDEMPOTENCY_TEXT =
  'repeating a key within a day returns the same response; 409 while the first request is in progress, and where the server ' +
  'was ended within it: its outcome is unknown then';

/** OpenAPI 3.1 of the REST interface, from the route table. */
export function openApi(version: string): Record<string, unknown> {
  const writer = new SchemaWriter('#/components/schemas/');
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [name, route] of Object.entries(ROUTES) as [string, RouteDefinition][]) {
    const path = `${API_PREFIX}${route.path}`;
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operation(name, route, writer);
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Orrery',
      version,
      summary: 'Network function virtualization with a live digital twin',
      description:
        'Collections return `{items, total}` and `Link: rel="next"`. Errors are problem details (RFC 9457) whose ' +
        '`errors[].pointer` points at each invalid field; 422 always has `errors`. A number beyond ±(2^53 - 1) is refused ' +
        'with 422. `X-Request-Id` is echoed and included in each problem.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }],
    tags: [...new Set(Object.values(ROUTES).map((route) => route.tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'token from `POST /api/v1/sessions`' },
      },
      headers: {
        'X-Request-Id': { schema: { type: 'string' } },
        ETag: { description: 'revision of the resource', schema: { type: 'string' } },
        Location: { description: 'the resource that was created', schema: { type: 'string' } },
        Link: { description: 'the next page, `rel="next"`', schema: { type: 'string' } },
      },
      responses: problemResponses(),
      schemas: writer.named(),
    },
  };
}

function operation(name: string, route: RouteDefinition, writer: SchemaWriter): Record<string, unknown> {
  const parameters = [
    ...fields(route.params, 'path', writer),
    ...fields(route.query, 'query', writer),
    ...(judgesIfMatch(route) ? [header('If-Match', ifMatchText(route))] : []),
    ...(route.creates ? [header('Idempotency-Key', IDEMPOTENCY_TEXT)] : []),
  ];
  return {
    operationId: name,
    tags: [route.tag],
    summary: route.summary,
    'x-minimum-role': route.role ?? 'none',
    ...(route.role === null ? { security: [] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body
      ? { requestBody: { required: true, content: { 'application/json': { schema: writer.inline(route.body) } } } }
      : {}),
    ...(route.body_type ? { requestBody: { required: true, content: { [route.body_type]: {} } } } : {}),
    responses: { ...success(route, writer), ...problems(route) },
  };
}

function ifMatchText({ method }: RouteDefinition): string {
  const text = 'the ETag that was read, or `*`; 412 if the resource has changed since';
  return method === 'PUT' ? `${text}; required if the resource exists (428)` : text;
}

function success(route: RouteDefinition, writer: SchemaWriter): Record<string, unknown> {
  const names = [
    'X-Request-Id',
    ...(route.etag && route.status !== 204 ? ['ETag'] : []),
    ...(route.location ? ['Location'] : []),
    ...(route.query?.shape.nextpage_opaque_marker ? ['Link'] : []),
  ];
  const content = route.response
    ? { content: { [route.response_type ?? 'application/json']: { schema: writer.inline(route.response) } } }
    : {};
  const titles = {
    200: 'Success',
    201: 'Created',
    202: 'Accepted; the work continues after the response',
    204: 'Success',
  };
  const answer = (status: keyof typeof titles, headers: readonly string[]) => ({
    [status]: {
      description: titles[status],
      headers: Object.fromEntries(headers.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
      ...content,
    },
  });
  return {
    ...answer(route.status, names),
    ...(route.done_status
      ? answer(
          route.done_status,
          names.filter((name) => name !== 'Location'),
        )
      : {}),
  };
}

function problems(route: RouteDefinition): Record<string, unknown> {
  return Object.fromEntries(
    problemStatuses(route).map((status) => [status, { $ref: `#/components/responses/${status}` }]),
  );
}

function problemResponses(): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(PROBLEM_TITLES).map(([status, description]) => [
      status,
      { description, content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } } },
    ]),
  );
}

function fields(object: z.ZodObject | undefined, place: 'path' | 'query', writer: SchemaWriter): unknown[] {
  if (!object) return [];
  const shape = writer.inline(object) as { properties: Record<string, object>; required?: string[] };
  return Object.entries(shape.properties).map(([name, schema]) => ({
    name,
    in: place,
    required: place === 'path' || (shape.required ?? []).includes(name),
    schema,
  }));
}

function header(name: string, description: string): unknown {
  return { name, in: 'header', required: false, description, schema: { type: 'string', maxLength: 200 } };
}
