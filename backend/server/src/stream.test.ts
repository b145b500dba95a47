import { API_PREFIX, type Event, STREAM_ALIVE_MS, StreamServerMessage } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { FakeAgent } from './testing/fake-agent.js';
import { monitorChain, RACK } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

type Message = StreamServerMessage;
type Of<T extends Message['type']> = Extract<Message, { type: T }>;

let server: TestServer;
const consoles: Console[] = [];
beforeEach(async () => {
  server = await TestServer.start();
});
afterEach(async () => {
  for (const each of consoles.splice(0)) each.socket.terminate();
  await server.stop();
});

class Console {
  readonly messages: Message[] = [];
  closed: number | null = null;
  readonly socket: WebSocket;

  constructor() {
    this.socket = new WebSocket(`${server.running.url.replace('http', 'ws')}${API_PREFIX}/stream`);
    this.socket.on('message', (data) => this.messages.push(StreamServerMessage.parse(JSON.parse(data.toString()))));
    this.socket.on('close', (code) => {
      this.closed = code;
    });
    this.socket.on('error', () => undefined);
    consoles.push(this);
  }

  static async open(after?: string): Promise<Console> {
    const opened = new Console();
    await until('the socket opens', () => opened.socket.readyState === WebSocket.OPEN);
    opened.send({ type: 'authenticate', token: server.api.token, after });
    await until('ready', () => opened.of('ready').length > 0);
    return opened;
  }

  send(message: unknown): void {
    this.socket.send(JSON.stringify(message));
  }

  of<T extends Message['type']>(type: T): Of<T>[] {
    return this.messages.filter((message): message is Of<T> => message.type === type);
  }

  get events(): Event[] {
    return this.of('event').map(({ event }) => event);
  }
}

const makeEvents = async (from: number, to: number) => {
  for (let index = from; index < to; index++) await server.api.call('createChain', { body: monitorChain(`p${index}`) });
};
const logged = async () => (await server.api.call('listEvents', { query: { limit: 1000 } })).items.map(({ id }) => id);

describe('the stream', () => {
  it('delivers every event once and in order across reconnects', async () => {
    await makeEvents(0, 3);
    const seen: Event[] = [];
    let last = '0-0';
    for (let round = 0; round < 4; round++) {
      // Continues while the client reconnects.
      const writing = makeEvents(3 + round * 7, 10 + round * 7);
      const one = await Console.open(last);
      await until('some events', () => one.events.length >= 3);
      one.socket.terminate();
      await until('the end', () => one.closed !== null);
      seen.push(...one.events);
      last = seen.at(-1)!.id;
      await writing;
    }
    const rest = await Console.open(last);
    const all = await logged();
    // On a slow machine the last round may already have seen everything.
    await until('the rest', () => [...seen, ...rest.events].at(-1)?.id === all.at(-1));
    seen.push(...rest.events);
    expect(seen.map(({ id }) => id)).toEqual(all);
    expect(seen.filter(({ type }) => type === 'chain.created')).toHaveLength(31);
  });

  it('ends with the session: at sign-out for the WebSocket and the event stream alike', async () => {
    const one = await Console.open();
    const events = await fetch(`${server.running.url}${API_PREFIX}/events/stream`, {
      headers: { authorization: `Bearer ${server.api.token}` },
    });
    const read = events.text();
    await server.api.call('deleteSession');
    await until('the socket closes', () => one.closed !== null);
    expect(one.of('refused').at(-1)).toMatchObject({ detail: 'the session is over' });
    expect(one.closed).toBe(1008);
    expect(await read).toContain('stream of events');
  });

  it('sends something every second or so, even if there is nothing to tell', async () => {
    const beganMs = performance.now();
    const one = await Console.open();
    await until('signs of life', () => one.of('alive').length >= 3);
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(3 * STREAM_ALIVE_MS);
    await makeEvents(0, 1);
    await until('the event', () => one.events.length > 0);
  });

  it('starts from now without a resume point', async () => {
    await makeEvents(0, 2);
    const one = await Console.open();
    await makeEvents(2, 3);
    await until('the event', () => one.events.length > 0);
    expect(one.events).toMatchObject([{ type: 'chain.created', data: { name: 'p2' } }]);
  });

  it('reports when the log after the resume point was trimmed, and continues from now', async () => {
    await makeEvents(0, 3);
    const [first] = await logged();
    await server.running.store.redis.xtrim('orrery:default:events', 'MAXLEN', 1);
    const { scratch } = server;
    await server.pause();
    server = await TestServer.start({}, scratch);
    const one = await Console.open(first);
    await until('reset', () => one.of('reset').length > 0);
    expect(one.of('reset')[0]!.snapshot_at).toBe((await logged()).at(-1));
    await makeEvents(3, 4);
    await until('the next event', () => one.events.length === 1);
    expect(one.messages.map(({ type }) => type)).toEqual(['ready', 'reset', 'event']);
  });

  it('does not reset while the log is whole, even from its very beginning', async () => {
    await makeEvents(0, 3);
    const { scratch } = server;
    await server.pause();
    server = await TestServer.start({}, scratch);
    const one = await Console.open('0-0');
    await until('the return', () => one.events.some(({ type }) => type === 'server.returned'));
    const all = await logged();
    await until('all events', () => one.events.at(-1)?.id === all.at(-1));
    expect(one.events.map(({ id }) => id)).toEqual(all);
    expect(one.events.filter(({ type }) => type === 'chain.created')).toHaveLength(3);
    expect(one.of('reset')).toEqual([]);
  });

  it.each([
    ['no token', { type: 'subscribe', samples: [] }],
    ['a wrong token', { type: 'authenticate', token: 'wrong' }],
    ['an unknown message', { type: 'shout' }],
    ['a bad resume point', { type: 'authenticate', token: 'x', after: 'yesterday' }],
    ['a resume point beyond every event id', { type: 'authenticate', token: 'x', after: `1-${2n ** 64n}` }],
  ])('refuses %s', async (_, message) => {
    const one = new Console();
    await until('the socket opens', () => one.socket.readyState === WebSocket.OPEN);
    one.send(message);
    await until('the end', () => one.closed !== null);
    expect(one.messages.map(({ type }) => type)).toEqual(['refused']);
    expect(one.closed).toBe(1008);
  });

  it('takes a subscription that follows authentication without waiting for its answer', async () => {
    const one = new Console();
    await until('the socket opens', () => one.socket.readyState === WebSocket.OPEN);
    one.send({ type: 'authenticate', token: server.api.token });
    one.send({ type: 'subscribe', samples: [] });
    await until('ready', () => one.of('ready').length > 0);
    await makeEvents(0, 1);
    await until('an event', () => one.events.length > 0);
    expect(one.of('refused')).toEqual([]);
  });

  it('sends only subscribed samples, and only the newest per key', async () => {
    await server.api.call('putInfrastructure', { body: RACK });
    const { token } = await server.api.call('createJoinToken', { body: { node: 'server-1' } });
    const agent = new FakeAgent(server.running.url, 'server-1', token);
    server.agents.set('server-1', agent);
    await agent.connect();
    const one = await Console.open();
    const two = await Console.open();
    one.send({ type: 'subscribe', samples: ['node/'] });
    two.send({ type: 'subscribe', samples: ['link/'] });
    const samples = () => one.of('samples').flatMap((message) => message.samples);
    await until('samples', () => {
      for (let index = 0; index < 10; index++) agent.sample(index);
      return samples().length > 3;
    });
    expect(new Set(samples().map(({ key }) => key))).toEqual(new Set(['node/server-1/cpu']));
    for (const message of one.of('samples')) expect(message.samples).toHaveLength(1);
    expect(one.of('samples').some(({ coalesced }) => coalesced > 0)).toBe(true);
    expect(two.of('samples')).toEqual([]);
  });

  it('lets a reader that is slow fall behind without loss', async () => {
    const one = await Console.open('0-0');
    one.socket.pause();
    const big = { ...monitorChain('big'), description: 'x'.repeat(2000) };
    const { id } = await server.api.call('createChain', { body: big });
    for (let index = 0; index < 50; index++) await server.api.call('putChain', { params: { id }, body: big });
    one.socket.resume();
    const all = await logged();
    await until('every event', () => one.events.length === all.length);
    expect(one.events.map((event) => event.id)).toEqual(all);
  });
});

describe('server-sent events', () => {
  async function read(headers: Record<string, string>, until: (text: string) => boolean): Promise<string> {
    const abort = new AbortController();
    const response = await fetch(`${server.running.url}${API_PREFIX}/events/stream`, {
      headers: { authorization: `Bearer ${server.api.token}`, ...headers },
      signal: abort.signal,
    });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    let text = '';
    for await (const chunk of response.body!) {
      text += Buffer.from(chunk).toString();
      if (until(text)) break;
    }
    abort.abort();
    return text;
  }
  const idsIn = (text: string) => [...text.matchAll(/^id: (\S+)$/gm)].map(([, id]) => id);

  it('resume after Last-Event-ID', async () => {
    await makeEvents(0, 4);
    const all = await logged();
    const text = await read({ 'last-event-id': all[1]! }, (so) => idsIn(so).length === all.length - 2);
    expect(idsIn(text)).toEqual(all.slice(2));
    expect(text).toMatch(/^event: chain\.created$/m);
  });

  it('share a limit with consoles, and say when to retry', async () => {
    const one = await Console.open();
    const abort = new AbortController();
    const open = (token: string | null) =>
      fetch(`${server.running.url}${API_PREFIX}/events/stream`, {
        headers: { authorization: `Bearer ${token}` },
        signal: abort.signal,
      });
    const tokens = [server.api.token];
    for (let n = 0; n < 5; n++) tokens.push((await server.session('viewer')).token);
    const shares = [99, 100, 100, 100, 100].map((share, n) => Array.from({ length: share }, () => open(tokens[n]!)));
    const answers = await Promise.all(shares.flat());
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    const refused = await open(tokens[5]!);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    const console = new Console();
    await until('the socket opens', () => console.socket.readyState === WebSocket.OPEN);
    console.send({ type: 'authenticate', token: tokens[5] });
    await until('the refusal', () => console.closed === 1013);
    const gauge = async () => /^orrery_event_stream_clients (\d+)$/m.exec(await server.metrics())?.[1];
    expect(await gauge()).toBe('499');
    abort.abort();
    await until('the readers have gone', async () => (await gauge()) === '0');
    expect(one.closed).toBeNull();
    await read({ 'last-event-id': '0-0' }, (text) => text.includes('stream of events'));
  });

  it('of one session take only some of the places', async () => {
    const abort = new AbortController();
    const open = (token: string | null) =>
      fetch(`${server.running.url}${API_PREFIX}/events/stream`, {
        headers: { authorization: `Bearer ${token}` },
        signal: abort.signal,
      });
    const greedy = await Promise.all(Array.from({ length: 101 }, () => open(server.api.token)));
    expect(greedy.map(({ status }) => status).filter((status) => status !== 200)).toEqual([503]);
    expect((await open((await server.session('viewer')).token)).status).toBe(200);
    abort.abort();
  });

  it.each(['1-', `${'9'.repeat(26)}-0`])('refuse to resume after %s', async (id) => {
    const answer = await server.api.request('streamEvents', { headers: { 'last-event-id': id } });
    expect(answer.status).toBe(400);
  });

  it('need a session', async () => {
    expect((await fetch(`${server.running.url}${API_PREFIX}/events/stream`)).status).toBe(401);
  });
});
