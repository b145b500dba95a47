import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isMarked, Problem, type Webhook, type WebhookRequest } from '@orrery/contract';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { KEYS } from './platform/redis-keys.js';
import { ChildServer } from './testing/child-server.js';
import { Scratch, signIn, TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Where messages come in. `answers`: what the next ones are answered, then 204; `held`: what `release` is called with, or 200. */
class Receiver {
  readonly received: Received[] = [];
  answers: (number | 'held' | 'redirect')[] = [];
  release: (status?: number) => void = () => undefined;

  private constructor(private readonly http: Server) {}

  static async start(): Promise<Receiver> {
    const http = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += String(chunk);
      });
      request.on('end', () => {
        receiver.received.push({ headers: request.headers, body });
        const answer = receiver.answers.shift() ?? 204;
        if (answer === 'held') receiver.release = (status = 200) => response.writeHead(status).end();
        else if (answer === 'redirect') response.writeHead(302, { location: receiver.url }).end();
        else response.writeHead(answer).end();
      });
    });
    const receiver = new Receiver(http);
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.http.address() as AddressInfo).port}/hook`;
  }

  /** Types of what came in, in order. */
  get types(): string[] {
    return this.received.map(({ body }) => JSON.parse(body).type);
  }

  get ids(): string[] {
    return this.received.map(({ headers }) => String(headers['webhook-id']));
  }

  async stop(): Promise<void> {
    this.http.closeAllConnections();
    await new Promise((resolve) => this.http.close(resolve));
  }
}

let receiver: Receiver;
let server: TestServer;
beforeEach(async () => {
  receiver = await Receiver.start();
  server = await TestServer.start();
});
afterEach(async () => {
  await server.stop();
  await receiver.stop();
});

const request = (fields: Partial<WebhookRequest> = {}): WebhookRequest => ({
  title: 'Pager',
  url: receiver.url,
  least_severity: 'info',
  types: ['loop.paused', 'loop.resumed'],
  enabled: true,
  ...fields,
});

/** Writes one event of the type `loop.paused` or `loop.resumed`. */
const pause = () => server.api.call('pauseLoop', { params: { id: 'slo' } });
const resume = () => server.api.call('resumeLoop', { params: { id: 'slo' } });
const hookOf = (id: string): Promise<Webhook> => server.api.call('getWebhook', { params: { id } });

it('sends the events that it asks for, in order and signed', async () => {
  const { id, secret } = await server.api.call('createWebhook', { body: request() });
  await pause();
  await resume();
  await until('both arrive', () => receiver.received.length === 2);
  expect(receiver.types).toEqual(['loop.paused', 'loop.resumed']);
  for (const { headers, body } of receiver.received) {
    const { 'webhook-id': message, 'webhook-timestamp': sent, 'webhook-signature': signature } = headers;
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
    expect(key).toHaveLength(32);
    expect(signature).toBe(`v1,${createHmac('sha256', key).update(`${message}.${sent}.${body}`).digest('base64')}`);
    expect(message).toBe(`${id}.${JSON.parse(body).data.id}`);
    expect(Math.abs(Number(sent) - Date.now() / 1000)).toBeLessThan(60);
  }
  expect(await until('it is counted', async () => (await hookOf(id)).delivered === 2 && hookOf(id))).toMatchObject({
    state: 'idle',
    attempts: 0,
    last_attempt: { status: 204, error: null },
  });
  expect(JSON.stringify(await server.api.call('listWebhooks'))).not.toContain(secret);
});

it('sends nothing below its severity without types, of other types, or from before it was made', async () => {
  await pause();
  const { id } = await server.api.call('createWebhook', { body: request({ types: ['loop.resumed'] }) });
  const quiet = await server.api.call('createWebhook', { body: request({ least_severity: 'error', types: [] }) });
  const chosen = await server.api.call('createWebhook', {
    body: request({ least_severity: 'error', types: ['loop.resumed'], url: `${receiver.url}/chosen` }),
  });
  await resume();
  await until('it arrives', async () => (await hookOf(id)).delivered === 1);
  await pause();
  await resume();
  await until('it arrives', async () => (await hookOf(id)).delivered === 2);
  expect(new Set(receiver.types)).toEqual(new Set(['loop.resumed']));
  await until('they are sent by type, too', async () => (await hookOf(chosen.id)).delivered === 2);
  expect(await hookOf(quiet.id)).toMatchObject({ delivered: 0, last_attempt: null });
});

it('tries again in order while the receiver fails, tells so once, and gives up what it refuses', async () => {
  receiver.answers = [503, 'redirect'];
  const { id } = await server.api.call('createWebhook', { body: request() });
  await pause();
  await resume();
  expect(
    await until('the first one fails', async () => {
      const hook = await hookOf(id);
      return hook.state === 'retrying' && hook;
    }),
  ).toMatchObject({
    attempts: 1,
    retry_in_s: expect.any(Number),
    last_attempt: { status: 503, error: 'the receiver answered 503 Service Unavailable' },
  });
  await until('both arrive', async () => (await hookOf(id)).delivered === 2);
  expect(receiver.types).toEqual(['loop.paused', 'loop.paused', 'loop.paused', 'loop.resumed']);
  expect(new Set(receiver.ids).size).toBe(2);
  receiver.answers = [422];
  await pause();
  await resume();
  await until('the next one arrives', async () => (await hookOf(id)).delivered === 3);
  expect(await hookOf(id)).toMatchObject({ refused: 1, attempts: 0, state: 'idle' });
  const events = await server.api.call('listEvents', { query: { subject: id } });
  expect(events.items.map(({ type }) => type)).toEqual([
    'webhook.added',
    'webhook.failing',
    'webhook.recovered',
    'webhook.refused',
  ]);
  expect(await server.metrics()).toMatch(/orrery_webhook_attempts_total\{outcome="again"\} 2/);
});

it('sends to a new address at once, nothing while it is disabled, and nothing of that time later', async () => {
  const away = await Receiver.start();
  const { url } = away;
  await away.stop();
  const { id } = await server.api.call('createWebhook', { body: request({ url }) });
  await pause();
  const failing = await until('it fails', async () => {
    const hook = await hookOf(id);
    return hook.attempts > 0 && hook;
  });
  expect(failing.last_attempt).toMatchObject({ status: null, error: expect.stringMatching(/^nothing listens at 127/) });
  const put = (body: WebhookRequest) => server.api.call('putWebhook', { params: { id }, body });
  await put(request());
  await until('it arrives', () => receiver.received.length === 1);
  expect((await put(request({ enabled: false }))).state).toBe('disabled');
  await resume();
  await put(request());
  receiver.answers = ['held'];
  await pause();
  await until('the next one arrives', () => receiver.received.length === 2);
  expect(receiver.types).toEqual(['loop.paused', 'loop.paused']);
  // What is answered late does not turn back one that has begun anew.
  await put(request({ enabled: false }));
  await resume();
  await put(request());
  receiver.release();
  await until('the answer is counted', async () => (await hookOf(id)).delivered === 2);
  await pause();
  await until('the next one arrives', () => receiver.received.length === 3);
  expect(receiver.types).toEqual(['loop.paused', 'loop.paused', 'loop.paused']);
});

it('waits for no event that it wants no longer, or that came before it was enabled anew', async () => {
  receiver.answers = Array(100).fill(503);
  const { id } = await server.api.call('createWebhook', { body: request() });
  const put = (body: WebhookRequest) => server.api.call('putWebhook', { params: { id }, body });
  await pause();
  await until('it fails', async () => (await hookOf(id)).attempts > 0);
  await put(request({ types: ['loop.resumed'] }));
  await until('nothing waits', async () => (await hookOf(id)).state === 'idle');
  expect(await hookOf(id)).toMatchObject({ attempts: 0, retry_in_s: null, delivered: 0 });

  receiver.answers = ['held'];
  const { length } = receiver.received;
  await resume();
  await until('the next one arrives', () => receiver.received.length > length);
  await put(request({ enabled: false }));
  await put(request());
  receiver.release(502);
  await until('the answer is counted', async () => (await hookOf(id)).last_attempt?.status === 502);
  expect(await hookOf(id)).toMatchObject({ state: 'idle', attempts: 0, delivered: 0 });
  await pause();
  await until('what comes later is sent', async () => (await hookOf(id)).delivered === 1);
  expect(receiver.types.at(-1)).toBe('loop.paused');
});

it('misses nothing when events that it did not want have made way before the next start', async () => {
  const { id } = await server.api.call('createWebhook', { body: request({ types: ['scenario.started'] }) });
  await pause();
  await resume();
  await pause();
  const latest = (await server.api.call('listEvents', { query: { order: 'newest-first', limit: 1 } })).items[0]!.id;
  await server.running.store.redis.xtrim(KEYS.events, 'MINID', latest);
  const { begins_ms, items } = await server.api.call('listEvents');
  expect(items.map(({ type }) => type)).toContain('loop.paused');
  const { items: marked } = await server.api.call('listEvents', { query: { marked: 'true' } });
  expect(marked).toEqual(items.filter(isMarked));
  expect(begins_ms).toBe(Number(latest.split('-')[0]));
  await server.pause();
  server = await TestServer.start({}, server.scratch);
  await resume();
  expect(await hookOf(id)).toMatchObject({ has_gap: false, delivered: 0 });
});

it('tells of events that made way while the receiver was away, until it is changed', async () => {
  receiver.answers = Array(100).fill(503);
  const { id } = await server.api.call('createWebhook', { body: request() });
  await pause();
  await until('it fails', async () => (await hookOf(id)).attempts > 0);
  await resume();
  await pause();
  const latest = (await server.api.call('listEvents', { query: { order: 'newest-first', limit: 1 } })).items[0]!.id;
  await server.running.store.redis.xtrim(KEYS.events, 'MINID', latest);
  await server.pause();
  receiver.answers = [];
  server = await TestServer.start({}, server.scratch);
  await resume();
  await until('what is left is sent', async () => (await hookOf(id)).delivered > 0);
  expect(await hookOf(id)).toMatchObject({ has_gap: true, attempts: 0 });
  const put = await server.api.call('putWebhook', { params: { id }, body: request({ title: 'Other' }) });
  expect(put.has_gap).toBe(false);
  const { delivered } = await hookOf(id);
  await pause();
  await until('the next one arrives', async () => (await hookOf(id)).delivered > delivered);
  expect(await hookOf(id)).toMatchObject({ has_gap: false });
});

it('gives an event up after a day of attempts, those of the servers before included', async () => {
  receiver.answers = Array(100).fill(503);
  const { id } = await server.api.call('createWebhook', { body: request() });
  await pause();
  await until('it fails', async () => (await hookOf(id)).attempts > 0);
  await server.api.call('pauseLoop', { params: { id: 'webhooks' } });
  const { redis } = server.running.store;
  const stored = (await redis.hget(KEYS.webhookProgress, id))!;
  expect(stored).toMatch(/"waited_s":[\d.]+/);
  await redis.hset(KEYS.webhookProgress, id, stored.replace(/"waited_s":[\d.]+/, '"waited_s":86400'));
  await server.pause();
  const { length } = receiver.received;
  receiver.answers = [503];
  server = await TestServer.start({}, server.scratch);
  await server.api.call('resumeLoop', { params: { id: 'webhooks' } });
  await until('it goes on with the next ones', async () => (await hookOf(id)).delivered === 2);
  expect(await hookOf(id)).toMatchObject({ expired: 1, attempts: 0, state: 'idle' });
  expect(receiver.types.slice(length)).toEqual(['loop.paused', 'loop.paused', 'loop.resumed']);
});

it('goes on where it was after the server was killed', async () => {
  await server.stop();
  const scratch = new Scratch();
  const child = await ChildServer.start(scratch);
  const api = await signIn(child.url, scratch.secret);
  receiver.answers = Array(100).fill(500);
  const { id } = await api.call('createWebhook', { body: request() });
  await api.call('pauseLoop', { params: { id: 'slo' } });
  const attemptsOf = async (of: typeof api) => (await of.call('getWebhook', { params: { id } })).attempts;
  await until('an attempt fails', async () => (await attemptsOf(api)) === 1);
  await child.end('SIGKILL');
  receiver.answers = [500];
  server = await TestServer.start({}, scratch);
  await until('attempts are counted on', async () => (await attemptsOf(server.api)) === 2);
  await until('it arrives', async () => (await hookOf(id)).delivered === 1);
  await resume();
  await until('the next one arrives', async () => (await hookOf(id)).delivered === 2);
  expect(receiver.types.filter((type) => type === 'loop.resumed')).toHaveLength(1);
  expect(new Set(receiver.ids).size).toBe(2);
});

it('sends a test, replaces the secret, and refuses what is wrong', async () => {
  const { id, secret } = await server.api.call('createWebhook', { body: request({ enabled: false }) });
  receiver.answers = ['held'];
  const first = server.api.request('testWebhook', { params: { id } });
  await until('it arrives', () => receiver.received.length === 1);
  expect((await server.api.request('testWebhook', { params: { id } })).status).toBe(429);
  receiver.release();
  expect((await first).body).toMatchObject({ status: 200, error: null });
  expect(receiver.types.at(-1)).toBe('webhook.test');
  const rotated = await server.api.call('rotateWebhookSecret', { params: { id } });
  expect(rotated.secret).not.toBe(secret);
  for (const [url, pointer] of [
    ['ftp://host/', '/url'],
    ['nonsense', '/url'],
  ] as const) {
    const refused = await server.api.request('createWebhook', { body: JSON.stringify(request({ url })) });
    expect(refused.status).toBe(422);
    expect(Problem.parse(refused.body).errors).toMatchObject([{ pointer }]);
  }
  const operator = await server.session('operator');
  expect((await operator.request('listWebhooks')).status).toBe(403);
});
