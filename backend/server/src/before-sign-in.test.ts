import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { API_PREFIX, Problem } from '@orrery/contract';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type ClientOptions, WebSocket } from 'ws';
import { GUEST_BYTES, MAX_GUESTS_OF_ADDRESS } from './platform/sockets.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const STALL_MS = 200;

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start({
    env: { ORRERY_REQUEST_STALL_MS: String(STALL_MS), ORRERY_TRUSTED_PROXIES: '127.0.0.2' },
  });
});
afterAll(() => server.stop());

const sockets: WebSocket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.terminate();
});

type Path = '/agent' | '/shell' | '/stream';

function dial(path: Path, options: ClientOptions = {}): WebSocket {
  const socket = new WebSocket(`${server.running.url.replace('http', 'ws')}${API_PREFIX}${path}`, options);
  socket.on('error', () => undefined);
  sockets.push(socket);
  return socket;
}

async function opened(path: Path, options: ClientOptions = {}): Promise<WebSocket> {
  const socket = dial(path, options);
  await once(socket, 'open');
  return socket;
}

const closed = async (socket: WebSocket): Promise<number> => {
  if (socket.readyState !== WebSocket.CLOSED) await new Promise((resolve) => socket.once('close', resolve));
  return (socket as unknown as { _closeCode: number })._closeCode;
};

async function signsIn(): Promise<void> {
  const socket = await opened('/stream');
  const answer = once(socket, 'message');
  socket.send(JSON.stringify({ type: 'authenticate', token: server.api.token }));
  expect(JSON.parse(String((await answer)[0]))).toMatchObject({ type: 'ready' });
}

describe.each<Path>(['/agent', '/shell', '/stream'])('a connection at %s that has not signed in', (path) => {
  it.each([
    'x'.repeat(60_000),
    '[]',
    '{"type":"__proto__"}',
    '{"type":"reply","id":"1","error":null}',
    `[${'['.repeat(10_000)}`,
  ])('is cut at its first bad message: %.20s', async (message) => {
    const socket = await opened(path);
    let answers = 0;
    socket.on('message', () => answers++);
    for (let n = 0; n < 3; n++) socket.send(message);
    expect(await closed(socket)).toBe(1008);
    expect(answers).toBe(1);
  });

  it.each([
    ['an unfinished message', (socket: WebSocket) => socket.send('x'.repeat(GUEST_BYTES / 4), { fin: false })],
    ['pings', (socket: WebSocket) => socket.ping('x'.repeat(125))],
  ])('is cut when it sends too much: %s', async (_, send) => {
    const socket = await opened(path);
    const writing = setInterval(() => {
      for (let n = 0; n < 200 && socket.readyState === WebSocket.OPEN; n++) send(socket);
    }, 5);
    await closed(socket).finally(() => clearInterval(writing));
  });

  it('is refused to pages of other sites', async () => {
    for (const origin of ['https://evil.example', 'null', 'not a url', `${server.running.url}.evil.example`]) {
      const [, answer] = await once(dial(path, { origin }), 'unexpected-response');
      expect([origin, answer.statusCode]).toEqual([origin, 403]);
    }
  });

  it('gives its place to newcomers', async () => {
    const waiting = [];
    for (let n = 0; n < MAX_GUESTS_OF_ADDRESS; n++) waiting.push(await opened(path));
    await opened(path);
    await closed(waiting[0]!);
    expect(waiting.filter(({ readyState }) => readyState === WebSocket.OPEN).length).toBe(waiting.length - 1);
    await signsIn();
  });
});

it('pages of this server may open the stream, and no page the agents’ connection', async () => {
  await opened('/stream', { origin: server.running.url });
  const [, answer] = await once(dial('/agent', { origin: server.running.url }), 'unexpected-response');
  expect(answer.statusCode).toBe(403);
});

describe('a request', () => {
  const raw = async (text: string): Promise<[Socket, Promise<string>]> => {
    const { hostname, port } = new URL(server.running.url);
    const socket = connect(Number(port), hostname);
    let told = '';
    socket.on('data', (chunk) => (told += String(chunk)));
    socket.on('error', () => undefined);
    const end = new Promise<string>((resolve) => socket.once('close', () => resolve(told)));
    socket.write(text);
    return [socket, end];
  };
  const head = (path: string, more: string[]) =>
    [`POST ${API_PREFIX}${path} HTTP/1.1`, 'host: x', ...more, '', ''].join('\r\n');
  const problemOf = (answer: string) => Problem.parse(JSON.parse(answer.split('\r\n\r\n')[1]!));
  const JSON_HEAD = ['content-type: application/json', 'content-length: 100000'];

  it.each([
    ['half a head', 'GET / HTTP/1.1\r\nhost: x\r\n'],
    ['half a body', `${head('/sessions', ['content-type: application/json', 'content-length: 100'])}{"sec`],
    [
      'a chunked body',
      `${head('/sessions', ['content-type: application/json', 'transfer-encoding: chunked'])}5\r\n{"sec\r\n`,
    ],
  ])('that stalls is refused: %s', async (_, text) => {
    const [, end] = await raw(text);
    expect(problemOf(await end).status).toBe(408);
  });

  it('that stalls is refused with a session as well', async () => {
    const text = head('/chains', [...JSON_HEAD, `authorization: Bearer ${server.api.token}`]);
    const [, end] = await raw(`${text}{"title":`);
    expect(problemOf(await end).status).toBe(408);
  });

  it.each([
    ['none of its body was sent', ''],
    ['all of its body was sent', '{'.repeat(100_000)],
  ])('without a session is refused before its body is read: %s', async (_, body) => {
    const [, end] = await raw(`${head('/chains', JSON_HEAD)}${body}`);
    expect(problemOf(await end).status).toBe(401);
  });

  it('without a session cannot send much after its refusal', async () => {
    const [socket, end] = await raw(head('/chains', ['content-type: application/json', 'content-length: 1000000']));
    await once(socket, 'data');
    const writing = setInterval(() => socket.write('{'.repeat(20_000)), 20);
    await end.finally(() => clearInterval(writing));
    expect(socket.bytesWritten).toBeLessThan(500_000);
  });

  it('to sign in has a small body', async () => {
    const { status } = await server.api
      .as(null)
      .request('createSession', { body: JSON.stringify({ secret: 'x'.repeat(5000) }) });
    expect(status).toBe(413);
  });
});

describe('wrong secrets', () => {
  const guess = async (headers: Record<string, string> = {}) =>
    (await server.api.as(null).request('createSession', { body: '{"secret":"wrong"}', headers })).status;

  it('of one address do not lock out others, and no client chooses its address', async () => {
    let last = 0;
    for (let n = 0; n < 12; n++) last = await guess({ 'x-forwarded-for': `10.0.0.${n}` });
    expect(last).toBe(429);
    await until('the other address may guess', async () => {
      const { hostname, port } = new URL(server.running.url);
      const socket = connect({ port: Number(port), host: hostname, localAddress: '127.0.0.2' });
      const body = '{"secret":"wrong"}';
      socket.write(
        `POST ${API_PREFIX}/sessions HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-forwarded-for: 6.6.6.6, 10.9.9.9\r\n` +
          `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
      return String((await once(socket, 'data'))[0]).startsWith('HTTP/1.1 401');
    });
  });
});
