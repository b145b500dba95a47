import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { API_PREFIX, ROUTES } from '../api.js';
import { EventType } from '../events/event.js';
import type { RouteDefinition } from '../route-definition.js';
import { artefacts } from './artefacts.js';
import { eventSchemaName } from './json-schema.js';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const { version } = JSON.parse(read('package.json'));
const files = artefacts(version);

describe('generated files', () => {
  it.each([...files.keys()])('%s is up to date with the contract (npm run generate -w backend/contract)', (name) => {
    expect(read(`generated/${name}`)).toBe(files.get(name));
  });

  it.each([...files.keys()])('%s has no dangling reference', (name) => {
    const document = JSON.parse(files.get(name)!);
    for (const [, pointer] of files.get(name)!.matchAll(/"\$ref": "#(\/[^"]+)"/g)) {
      const target = pointer!
        .split('/')
        .slice(1)
        .reduce((at, part) => at?.[part.replaceAll('~1', '/').replaceAll('~0', '~')], document);
      expect(target, pointer).toBeDefined();
    }
  });

  it('schema.json compiles as JSON Schema 2020-12', () => {
    const ajv = new Ajv2020({ strict: false });
    expect(() => ajv.compile(JSON.parse(files.get('schema.json')!))).not.toThrow();
  });
});

describe('OpenAPI', () => {
  const { paths } = JSON.parse(files.get('openapi.json')!);

  it('describes every row of the route table', () => {
    for (const [name, route] of Object.entries(ROUTES) as [string, RouteDefinition][]) {
      const operation = paths[`${API_PREFIX}${route.path}`]?.[route.method.toLowerCase()];
      expect(operation?.operationId).toBe(name);
      for (const status of [route.status, ...(route.done_status ? [route.done_status] : [])])
        expect(Object.keys(operation.responses)).toContain(String(status));
      expect(operation['x-minimum-role']).toBe(route.role ?? 'none');
    }
  });

  it('declares If-Match only where there is something to match: not where a collection gets a new resource', () => {
    type Declared = { parameters?: { name: string }[]; responses: Record<string, unknown> };
    const declared = (path: string): boolean[] => {
      const { parameters = [], responses }: Declared = paths[`${API_PREFIX}${path}`].post;
      return [parameters.some(({ name }) => name === 'If-Match'), '412' in responses];
    };
    for (const path of ['/chains', '/scaling-policies', '/lending-groups', '/reconfiguration-policies'])
      expect(declared(path), path).toEqual([false, false]);
    for (const path of ['/chains/{id}/versions', '/placement-advice/apply'])
      expect(declared(path), path).toEqual([true, true]);
  });

  it('says what a repeated Idempotency-Key is answered where the outcome of the first request is unknown', () => {
    const { parameters } = paths[`${API_PREFIX}/chains`].post;
    const { description } = parameters.find(({ name }: { name: string }) => name === 'Idempotency-Key');
    expect(description).toMatch(/409 .* its outcome is unknown/);
  });

  it('declares every path parameter', () => {
    for (const [path, operations] of Object.entries(paths) as [string, Record<string, { parameters?: unknown[] }>][])
      for (const operation of Object.values(operations)) {
        const declared = (operation.parameters ?? []) as { in: string; name: string }[];
        const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
        expect(declared.filter((each) => each.in === 'path').map((each) => each.name)).toEqual(inPath);
      }
  });
});

it('has every limit of a body that is not the usual one in docs/security.md', () => {
  const lines = read('../../docs/security.md').split('\n');
  const row = lines.find((line) => line.startsWith("| a request's body |"));
  for (const [name, { body_limit_bytes }] of Object.entries(ROUTES) as [string, RouteDefinition][])
    if (body_limit_bytes !== undefined) expect(row, name).toContain(`${Math.round(body_limit_bytes / 2 ** 20)} MB`);
});

describe('events', () => {
  const { channels, components } = JSON.parse(files.get('asyncapi.json')!);
  const stands = (schema: unknown) => typeof schema === 'object' && schema !== null;
  /** A schema that accepts any value: `unknown`. */
  const untyped = (schema: object): boolean =>
    Object.keys(schema).every((key) => key === 'description') ||
    Object.entries(schema).some(([key, value]) =>
      ['properties', 'anyOf', 'oneOf'].includes(key)
        ? Object.values(value as object).some((each) => stands(each) && untyped(each))
        : ['items', 'additionalProperties'].includes(key) && stands(value) && untyped(value),
    );

  it('are listed by AsyncAPI, each with its own payload', () => {
    expect(Object.keys(channels.events.messages)).toEqual(EventType.options);
    const payloads = Object.values<{ payload: { $ref: string } }>(channels.events.messages).map(
      ({ payload }) => payload,
    );
    expect(new Set(payloads.map(({ $ref }) => $ref)).size).toBe(EventType.options.length);
  });

  it.each(EventType.options)('%s declares the type of all its data', (type) => {
    const { data } = components.schemas[eventSchemaName(type)].properties;
    expect(untyped({ ...data, properties: { type: { const: type }, ...data.properties } })).toBe(false);
  });
});

describe('route table', () => {
  it('offers Idempotency-Key for JSON bodies only, because the server compares them', () => {
    const raw = Object.values<RouteDefinition>(ROUTES).filter(({ body_type }) => body_type);
    expect(raw.map(({ creates }) => creates ?? false)).toEqual(raw.map(() => false));
  });

  it('gives no two routes the same address', () => {
    const addresses = Object.values(ROUTES).map(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`);
    expect(new Set(addresses).size).toBe(addresses.length);
  });

  it('allows only createSession without a session', () => {
    const open = Object.entries(ROUTES).filter(([, { role }]) => role === null);
    expect(open.map(([name]) => name)).toEqual(['createSession']);
  });
});
