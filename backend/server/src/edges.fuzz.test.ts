import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { API_PREFIX, ROUTES, type RouteDefinition, type RouteName } from '@orrery/contract';
import fc from 'fast-check';
import { fetch } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { requireProblem } from './testing/client.js';
import { FakeAgent } from './testing/fake-agent.js';
import { monitorChain, RACK } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const SEED = Number(process.env.ORRERY_FUZZ_SEED ?? 1);
const REQUESTS = 700;
const CONNECTIONS = 120;
const AT_ONCE = 8;
/** Growth of the heap that is not from what was sent: caches, compiled code. */
const HEAP_SLACK_BYTES = 64 * 1024 * 1024;

let server: TestServer;
let viewer: string;
let heapBefore: number;
beforeAll(async () => {
  server = await TestServer.start();
  await server.api.call('putInfrastructure', { body: RACK });
  await server.api.call('createChain', { body: monitorChain('known') });
  viewer = (await server.session('viewer')).token!;
  heapBefore = heapBytes();
});
afterAll(() => server.stop());

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
function heapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
}

const gauge = async (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await server.metrics())?.[1]);

/** Runs `work` on every item, some at a time. */
async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const open = [...items];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let item = open.pop(); item !== undefined; item = open.pop()) await work(item);
    }),
  );
}

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.constantFrom(
    '',
    '__proto__',
    'constructor',
    'known',
    '../../etc/passwd',
    '%00',
    '-1',
    '1e999',
    `${'9'.repeat(26)}-0`,
  ),
  fc.string({ unit: 'grapheme', maxLength: 500 }),
);
const EXAMPLES = [
  RACK,
  monitorChain('mutated'),
  { secret: 'x' },
  { node: 'server-1' },
  { chains: [{ chain_id: 'x' }] },
];
const deep = fc.integer({ min: 1, max: 2000 }).map((levels) => `${'['.repeat(levels)}${']'.repeat(levels)}`);
const keys = fc.constantFrom('__proto__', 'constructor', 'prototype', 'title', 'toString', 'id', '');
const content = fc.oneof(
  fc.json({ maxDepth: 4 }),
  deep,
  text,
  fc.dictionary(fc.oneof(keys, text), fc.jsonValue()).map((value) => JSON.stringify(value)),
  // Valid but for one field.
  fc
    .record({ of: fc.constantFrom<object>(...EXAMPLES), key: fc.nat(), value: fc.jsonValue({ maxDepth: 2 }) })
    .map(({ of, key, value }) => {
      const fields = Object.keys(of);
      return JSON.stringify({ ...of, [fields[key % fields.length]!]: value });
    }),
);
const request = fc.record({
  name: fc.constantFrom(...(Object.keys(ROUTES) as RouteName[]).filter((name) => name !== 'streamEvents')),
  params: fc.array(text, { minLength: 3, maxLength: 3 }),
  query: fc.dictionary(
    fc.oneof(fc.constantFrom('limit', 'after', 'keys', 'filter', 'nextpage_opaque_marker'), text),
    text,
    { maxKeys: 3 },
  ),
  who: fc.constantFrom('nobody', 'junk', 'viewer', 'viewer', 'admin', 'admin', 'admin'),
  type: fc.constantFrom('application/json', 'application/json', 'application/octet-stream', 'text/plain', 'x'),
  more: fc.constantFrom<Record<string, string>>(
    {},
    { 'idempotency-key': 'same' },
    { 'if-match': '"999999999999999999999"' },
    { 'content-encoding': 'gzip' },
    { origin: 'https://evil.example' },
    { 'x-forwarded-for': '1.2.3.4, __proto__' },
    { 'x-request-id': 'a'.repeat(500) },
  ),
  body: content,
});

async function send({
  name,
  params,
  query,
  who,
  type,
  more,
  body,
}: typeof request extends fc.Arbitrary<infer R> ? R : never) {
  const route: RouteDefinition = ROUTES[name];
  if (name === 'deleteSession' && who !== 'junk') return;
  let nth = 0;
  const path = route.path.replaceAll(
    /\{\w+\}/g,
    () => encodeURIComponent(params[nth++ % params.length]!.replace(/\p{Cs}/gu, '?')) || 'x',
  );
  const url = new URL(`${server.running.url}${API_PREFIX}${path}`);
  for (const [key, value] of Object.entries(query)) url.searchParams.append(key, value);
  const token = { nobody: null, junk: 'junk', viewer, admin: server.api.token }[who];
  const response = await fetch(url, {
    method: route.method,
    headers: { ...more, ...(token ? { authorization: `Bearer ${token}` } : {}), 'content-type': type },
    ...(route.method === 'GET' ? {} : { body }),
  });
  const answer = await response.text();
  const sent = `${route.method} ${url.pathname}${url.search} as ${who}, ${type}: ${body.slice(0, 500)}`;
  if (response.ok) expect([route.status, route.done_status], sent).toContain(response.status);
  else if (
    url.pathname.split('/').length === `${API_PREFIX}${route.path}`.split('/').length ||
    response.status !== 404
  ) {
    expect([500, 502, 503], `${sent}\n${answer}`).not.toContain(response.status);
    // Dots in a path may lead to another route, whose statuses differ.
    if (!params.some((each) => /^\.{1,2}$/.test(each)) && response.status !== 405)
      requireProblem(name, response, JSON.parse(answer));
  }
}

const frame = fc.oneof(
  {
    weight: 3,
    arbitrary: content.map((data) => ({ data: data as string | Buffer, kind: 'message' as const, fin: true })),
  },
  fc.uint8Array({ maxLength: 2000 }).map((data) => ({ data: Buffer.from(data), kind: 'message' as const, fin: true })),
  content.map((data) => ({ data, kind: 'message' as const, fin: false })),
  fc.uint8Array({ maxLength: 100 }).map((data) => ({ data: Buffer.from(data), kind: 'ping' as const, fin: true })),
  fc
    .record({
      type: fc.constantFrom(
        'authenticate',
        'subscribe',
        'hello',
        'switch-hello',
        'samples',
        'observed',
        'event',
        'reply',
      ),
      more: fc.jsonValue(),
    })
    .map(({ type, more }) => ({
      data: JSON.stringify({ type, ...(more as object) }),
      kind: 'message' as const,
      fin: true,
    })),
);
type Frame = typeof frame extends fc.Arbitrary<infer F> ? F : never;

function throwAt(socket: WebSocket, frames: readonly Frame[]): void {
  for (const { data, kind, fin } of frames) {
    if (socket.readyState !== WebSocket.OPEN) return;
    if (kind === 'ping') socket.ping(data);
    else socket.send(data, { fin });
  }
}

async function open(path: '/stream' | '/shell' | '/agent'): Promise<WebSocket | null> {
  const socket = new WebSocket(`${server.running.url.replace('http', 'ws')}${API_PREFIX}${path}`);
  socket.on('error', () => undefined);
  return new Promise((resolve) => {
    socket.once('open', () => resolve(socket));
    socket.once('close', () => resolve(null));
  });
}

async function hasBaseline(): Promise<void> {
  await until('every connection is gone', async () => {
    const counts = await Promise.all(
      ['orrery_guests', 'orrery_stream_clients', 'orrery_event_stream_clients'].map(gauge),
    );
    return counts.every((count) => count === 0);
  });
  await until('memory returns', () => heapBytes() - heapBefore < HEAP_SLACK_BYTES, 20_000);
}

describe(`random input, seed ${SEED}`, () => {
  it('in requests over every route is answered as OpenAPI says', async () => {
    await each(fc.sample(request, { seed: SEED, numRuns: REQUESTS }), send);
    expect((await server.api.call('getHealth')).parts.find(({ name }) => name === 'redis')?.status).toBe('ok');
    await hasBaseline();
  });

  it('in frames before and after sign-in ends at most its own connection', async () => {
    const healthy = new AbortController();
    const health = (async () => {
      while (!healthy.signal.aborted) {
        await server.api.call('getHealth');
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    const visit = fc.record({
      path: fc.constantFrom('/stream' as const, '/shell' as const, '/agent' as const),
      signsIn: fc.boolean(),
      frames: fc.array(frame, { maxLength: 8 }),
    });
    await each(fc.sample(visit, { seed: SEED, numRuns: CONNECTIONS }), async ({ path, signsIn, frames }) => {
      const socket = await open(path);
      if (!socket) return;
      if (path === '/stream' && signsIn) socket.send(JSON.stringify({ type: 'authenticate', token: viewer }));
      throwAt(socket, frames);
      socket.close();
      setTimeout(() => socket.terminate(), 200);
      await new Promise((resolve) =>
        socket.readyState === WebSocket.CLOSED ? resolve(null) : socket.once('close', resolve),
      );
    });
    healthy.abort();
    await health;
    await hasBaseline();
  });

  it('of an agent that has joined reaches nothing beyond its node', async () => {
    const { token } = await server.api.call('createJoinToken', { body: { node: 'server-1' } });
    const agent = new FakeAgent(server.running.url, 'server-1', token);
    for (const frames of fc.sample(fc.array(frame, { maxLength: 8 }), { seed: SEED, numRuns: 60 })) {
      await agent.connect();
      for (const { data, kind } of frames) if (kind === 'message') agent.raw(data);
      await agent.kill();
    }
    const { items } = await server.api.call('listEvents', { query: { order: 'newest-first', limit: 1000 } });
    expect(items.filter(({ actor, subject }) => actor === 'agent server-1' && subject !== 'server-1')).toEqual([]);
    await hasBaseline();
  });

  it('of readers that never read costs no memory', async () => {
    const readers: WebSocket[] = [];
    for (let n = 0; n < 10; n++) {
      const socket = (await open('/stream'))!;
      socket.send(JSON.stringify({ type: 'authenticate', token: viewer, after: '0-0' }));
      socket.pause();
      readers.push(socket);
    }
    const big = { ...monitorChain('big'), description: 'x'.repeat(2000) };
    const { id } = await server.api.call('createChain', { body: big });
    for (let n = 0; n < 100; n++) await server.api.call('putChain', { params: { id }, body: big });
    expect(heapBytes() - heapBefore).toBeLessThan(HEAP_SLACK_BYTES);
    for (const socket of readers) socket.terminate();
    await hasBaseline();
  });
});
