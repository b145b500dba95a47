import { connect } from 'node:net';
import { API_PREFIX, Problem, ROUTES, type RouteDefinition, type RouteName } from '@orrery/contract';
import { fetch } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requireProblem } from './testing/client.js';
import { monitorChain, RACK } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
});
afterAll(() => server.stop());

const NAMES = Object.keys(ROUTES) as RouteName[];
const definitionOf = (name: RouteName): RouteDefinition => ROUTES[name];
const readsBody = (name: RouteName) => definitionOf(name).method !== 'GET';
const LONG = 'x'.repeat(3000);
/** What a route requires of its query. */
const QUERIES: Partial<Record<RouteName, Record<string, string>>> = { readP4Cells: { kind: 'counter', name: 'c' } };
const takesLargeBody = (name: RouteName) => readsBody(name) && definitionOf(name).role !== null;
const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

interface Malformed {
  readonly title: string;
  readonly status: number;
  /** Routes to which it applies; absent: all. */
  readonly of?: (name: RouteName) => boolean;
  readonly path?: (path: string) => string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

const MALFORMED: readonly Malformed[] = [
  { title: 'a bad escape in the path', status: 400, path: (path) => `${path}/%E0%A4%A` },
  {
    title: 'a parameter of 3,000 characters',
    status: 414,
    of: (name) => definitionOf(name).params !== undefined,
    path: (path) => path.replaceAll(/\{\w+\}/g, LONG),
  },
  { title: 'a header of 20 kB', status: 431, headers: { 'x-huge': 'x'.repeat(20_000) } },
  {
    title: 'a parameter that is no identifier',
    status: 400,
    of: (name) => definitionOf(name).params !== undefined,
    path: (path) => path.replaceAll(/\{\w+\}/g, '!'),
  },
  {
    title: 'an unknown query parameter',
    status: 400,
    of: (name) => definitionOf(name).query !== undefined,
    path: (path) => `${path}?unknown=1`,
  },
  {
    title: 'a bad token',
    status: 401,
    of: (name) => definitionOf(name).role !== null,
    headers: { authorization: 'x' },
  },
  {
    title: 'an Idempotency-Key of 201 characters',
    status: 400,
    of: (name) => definitionOf(name).creates === true,
    headers: { 'idempotency-key': 'x'.repeat(201) },
    body: '{}',
  },
  {
    title: 'an empty Idempotency-Key',
    status: 400,
    of: (name) => definitionOf(name).creates === true,
    headers: { 'idempotency-key': '' },
    body: '{}',
  },
  { title: 'a body that is not JSON', status: 400, of: readsBody, body: '{"a":' },
  { title: 'a body with a prototype', status: 422, of: readsBody, body: '{"__proto__":{}}' },
  { title: 'YAML', status: 415, of: readsBody, headers: { 'content-type': 'application/yaml' }, body: 'a: 1' },
  {
    title: 'an octet stream',
    status: 415,
    of: (name) => readsBody(name) && definitionOf(name).body_type === undefined,
    headers: { 'content-type': 'application/octet-stream', 'idempotency-key': 'x' },
    body: '{}',
  },
  {
    title: 'a body of 2 MB',
    status: 413,
    of: (name) => readsBody(name) && definitionOf(name).body_limit_bytes === undefined,
    body: JSON.stringify('x'.repeat(2_000_000)),
  },
  { title: 'a number that cannot be kept', status: 422, of: readsBody, body: '{"a":[9007199254740993]}' },
  { title: 'a body nested 300 times', status: 422, of: readsBody, body: deep(300) },
  { title: 'a body nested 100,000 times', status: 422, of: takesLargeBody, body: deep(100_000) },
  { title: 'a control character', status: 422, of: readsBody, body: '{"text":"a\\u001b[2K"}' },
  { title: 'a name with a line end', status: 422, of: readsBody, body: '{"x":[{"title":"a\\nb"}]}' },
  { title: 'text against the direction', status: 422, of: readsBody, body: '{"text":"a\\u202eb"}' },
  {
    title: 'a list',
    status: 422,
    of: (name) => definitionOf(name).body !== undefined && definitionOf(name).params === undefined,
    body: '[]',
  },
];

/** Sends it to the route with otherwise valid parts, and expects problem details that the route declares. */
async function refusal(name: RouteName, { path, headers, body }: Malformed): Promise<Problem> {
  const { method, path: template } = definitionOf(name);
  const address = (path ?? ((it) => it))(template).replaceAll(/\{\w+\}/g, '1');
  const response = await fetch(`${server.running.url}${API_PREFIX}${address}`, {
    method,
    headers: {
      authorization: `Bearer ${server.api.token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  const problem = requireProblem(name, response, await response.json());
  expect(problem.request_id).toBe(response.headers.get('x-request-id'));
  return problem;
}

describe('every route refuses with problem details and a declared status', () => {
  it.each(MALFORMED)('$title', async (malformed) => {
    const names = NAMES.filter(malformed.of ?? (() => true));
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) expect((await refusal(name, malformed)).status, name).toBe(malformed.status);
  });

  it('whether or not what it names exists', async () => {
    const params = { id: 'nothing', slot: 0, version: 1, chain_id: 'nothing', node_id: 'nothing', slo_id: 'nothing' };
    for (const name of NAMES.filter((each) => definitionOf(each).params)) {
      const body = readsBody(name) && definitionOf(name).body ? '{}' : undefined;
      const { status } = await server.api.request(name, { params, query: QUERIES[name], body });
      expect([404, 409, 422], name).toContain(status);
    }
  });
});

describe('what is not HTTP', () => {
  const talk = async (text: string): Promise<string> => {
    const { hostname, port } = new URL(server.running.url);
    const socket = connect(Number(port), hostname);
    let told = '';
    socket.on('data', (chunk) => (told += String(chunk)));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(text);
    await closed;
    return told;
  };

  it.each([
    ['a line of nonsense', 'HELLO\r\n\r\n'],
    ['a bad header', `GET ${API_PREFIX}/chains HTTP/1.1\r\nhost: x\r\nidempotency-key: a\u0001b\r\n\r\n`],
    ['two lengths', `POST ${API_PREFIX}/chains HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n`],
    ['no host', `GET ${API_PREFIX}/chains HTTP/1.1\r\nconnection: close\r\n\r\n`],
  ])('%s: 400', async (_, text) => {
    const [head, body] = (await talk(text)).split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/);
    expect(head).toMatch(/content-type: application\/problem\+json/i);
    expect(Problem.parse(JSON.parse(body!))).toMatchObject({ status: 400 });
  });

  it('an expectation that it does not know is ignored', async () => {
    const text = `GET ${API_PREFIX}/health HTTP/1.1\r\nhost: x\r\nexpect: magic\r\nconnection: close\r\n\r\n`;
    expect(await talk(text)).toMatch(/^HTTP\/1.1 401 /);
  });
});

describe('422', () => {
  const pointers = (problem: Problem) => problem.errors!.map(({ pointer }) => pointer);

  it('names the number that cannot be kept', async () => {
    const infrastructure = structuredClone(RACK) as unknown as Record<string, unknown>;
    infrastructure.boards = [{ id: 'b', resources: { ff: 'HERE', lut: 1e300 } }];
    const body = JSON.stringify(infrastructure).replace('"HERE"', '9007199254740993');
    const { body: answer } = await server.api.request('putInfrastructure', { body });
    expect(pointers(answer as Problem)).toEqual(['/boards/0/resources/ff', '/boards/0/resources/lut']);
  });

  it.each([
    ['title', 'a\u0000b', 'U+0000'],
    ['title', 'a\u0085b', 'U+0085'],
    ['title', 'a\tb', 'U+0009'],
    ['description', 'a\u2066b', 'U+2066'],
    ['description', 'a\ud800b', 'U+D800'],
  ])('names the field that is not what it looks like: %s', async (field, text, character) => {
    const body = JSON.stringify({ ...monitorChain('c'), [field]: text });
    const { body: problem } = await server.api.request('createChain', { body });
    expect((problem as Problem).errors).toMatchObject([
      { pointer: `/${field}`, code: 'control-character', detail: expect.stringContaining(character) },
    ]);
  });

  it('takes a description of several lines', async () => {
    const body = JSON.stringify({ ...monitorChain('lines'), description: 'a\n\tb' });
    expect((await server.api.request('createChain', { body })).status).toBe(201);
  });

  it('names the header of a reused key', async () => {
    const create = (name: string) =>
      server.api.request('createChain', {
        body: JSON.stringify(monitorChain(name)),
        headers: { 'idempotency-key': 'reused' },
      });
    expect((await create('one')).status).toBe(201);
    const { status, body } = await create('two');
    expect([status, (body as Problem).errors]).toMatchObject([422, [{ pointer: '', header: 'Idempotency-Key' }]]);
  });

  it('names how an infeasible plan was asked for, and what is short', async () => {
    await server.api.call('putInfrastructure', { body: RACK });
    const greedy = monitorChain('greedy');
    greedy.traffic_class.rate_bps = 1e13;
    const { id } = await server.api.call('createChain', { body: greedy });
    const plan = await server.api.call('createPlan', { body: { chains: [{ chain_id: id }] } });
    expect(plan.feasible).toBe(false);
    for (const [field, body] of Object.entries({ plan_id: { plan_id: plan.id }, chain_id: { chain_id: id } })) {
      const { status, body: problem } = await server.api.request('createDeployment', { body: JSON.stringify(body) });
      expect(status).toBe(422);
      expect(pointers(problem as Problem)).toEqual(plan.conflicts.map(() => `/${field}`));
    }
  });
});
