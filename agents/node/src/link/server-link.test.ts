import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT_PROTOCOL, HELLO_MOST_BYTES, type NodeSamples, type NodeSpec, type Observed } from '@orrery/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { scratchDirectory, until } from '../testing/scratch.js';
import { TestServer, welcome } from '../testing/server.js';
import { linearChain } from '../testing/specs.js';
import type { AgentEvent } from './agent-event.js';
import { CredentialStore } from './credential-store.js';
import { EventOutbox } from './event-outbox.js';
import { type Call, ServerLink } from './server-link.js';

const observed = {
  generation: 0,
  state: 'converged' as const,
  engine: 'stopped' as const,
  engine_pid: null,
  instances: [],
  boards: [],
  error: null,
  troubles: [],
};
const capabilities = {
  cores: 2,
  memory_bytes: 1,
  hugepages_bytes: 0,
  dpdk: null,
  engine_memory: null,
  drivers: ['engine'],
  nfs: ['nat'],
  iface: 'eth0',
  iface_mac: '02:00:00:00:00:01',
  boards: [],
};
const samples: NodeSamples = {
  epoch: 'e',
  seq: 1,
  t_ms: 1,
  clock_ms: 1000,
  interval_ms: 200,
  lost: 0,
  cpu_share: 0,
  instances: [],
  exits: [],
  modules: [],
  splits: [],
  schedulers: [],
  boards: [],
};
const event = (message: string): AgentEvent => ({
  event: 'a.b',
  subject: 'n1',
  message,
  t_ms: 1,
  data: {},
});

interface Given {
  server: TestServer;
  state_dir?: string;
  join_token?: string | null;
  silence_ms?: number;
  outbox?: EventOutbox;
  observed?: Observed;
  call?: (call: Call) => Promise<unknown>;
}

function connect({ server, state_dir = scratchDirectory(), join_token = 'once', ...given }: Given) {
  const seen = { desired: [] as [NodeSpec, boolean][], invalid: [] as string[] };
  const link = new ServerLink(
    {
      url: server.url,
      node: 'n1',
      join_token,
      ca: undefined,
      retry: { first_ms: 5, most_ms: 20 },
      silence_ms: given.silence_ms ?? 5000,
    },
    new CredentialStore(state_dir, 'n1'),
    given.outbox ?? new EventOutbox(),
    {
      hello: async () => ({
        type: 'hello' as const,
        origin: 'twin',
        version: '0',
        capabilities,
        observed: given.observed ?? observed,
      }),
      desired: (message, first) => message.type === 'desired' && seen.desired.push([message.spec, first]),
      call: given.call ?? (async () => ({})),
      invalid: (why) => seen.invalid.push(why),
    },
  );
  onTestFinished(() => link.stop());
  link.start();
  return { link, state_dir, ...seen };
}

async function listening(at?: string): Promise<TestServer> {
  const server = new TestServer();
  await server.listen(at);
  return server;
}

describe('ServerLink', () => {
  it('has stored its credential, which only its owner can read, before the server sees it', async () => {
    const server = await listening();
    const state_dir = scratchDirectory();
    const path = join(state_dir, 'credential.json');
    let stored = '';
    server.onHello = () => {
      stored = readFileSync(path, 'utf8');
      return welcome();
    };
    const { link } = connect({ server, state_dir });
    await until('welcome', () => link.connected);
    const { credential } = server.all('hello')[0]!;
    expect(server.all('hello')[0]).toMatchObject({ node: 'n1', protocol: AGENT_PROTOCOL, join_token: 'once' });
    expect(JSON.parse(stored)).toEqual({ node: 'n1', credential });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    for (const socket of server.sockets) socket.terminate();
    await until('it is back', () => server.all('hello').length === 2);
    expect(server.all('hello')[1]!.credential).toBe(credential);
    expect(new CredentialStore(state_dir, 'n1').get()).toBe(credential);
  });

  it('works over a unix socket', async () => {
    const server = await listening(join(scratchDirectory(), 'agents.sock'));
    expect(server.url).toMatch(/^ws\+unix:/);
    const { link } = connect({ server });
    await until('welcome', () => link.connected);
  });

  it('connects when the server comes up after it, and again when it comes back', async () => {
    const server = await listening();
    await server.close();
    const { link } = connect({ server });
    await server.listen();
    await until('welcome', () => link.connected);
    await server.close();
    await until('loss is noticed', () => !link.connected);
    const again = new TestServer();
    await again.listen(Number(new URL(server.url).port));
    await again.next('hello');
  });

  it('says hello again when asked to, and loses no event in the meantime', async () => {
    const server = await listening();
    const { link } = connect({ server });
    await until('welcome', () => link.connected);
    link.renew();
    link.event(event('in between'));
    await until('the second hello', () => server.all('hello').length === 2);
    await server.next('event', ({ message }) => message === 'in between');
    expect(server.all('event').length).toBe(1);
  });

  it('says hello again after the welcome if something changed after its hello', async () => {
    const server = await listening();
    server.onHello = () => null;
    const { link } = connect({ server });
    await server.next('hello');
    server.onHello = () => welcome();
    link.renew();
    server.send(welcome());
    await until('the second hello', () => server.all('hello').length === 2);
    await until('welcome', () => link.connected);
  });

  it('holds events until it is welcome, sends them in order, and reports how many were dropped', async () => {
    const server = await listening();
    server.onHello = () => null;
    const { link } = connect({ server, outbox: new EventOutbox(2) });
    for (const message of ['1', '2', '3']) link.event(event(message));
    await server.next('hello');
    link.event(event('4'));
    server.send(welcome());
    await until('events', () => server.all('event').length === 3);
    expect(server.all('event').map(({ data, message }) => data.dropped ?? message)).toEqual([2, '3', '4']);
    link.event(event('5'));
    await server.next('event', ({ message }) => message === '5');
  });

  it('reports samples that cannot be sent', async () => {
    const server = await listening();
    server.onHello = () => null;
    const { link } = connect({ server });
    expect(link.samples({ type: 'samples', samples })).toBe(false);
    await server.next('hello');
    expect(link.samples({ type: 'samples', samples })).toBe(false);
    server.send(welcome());
    await until('welcome', () => link.connected);
    expect(link.samples({ type: 'samples', samples })).toBe(true);
    expect((await server.next('samples')).samples).toEqual(samples);
  });

  it.each([
    [100, true],
    [10_000, false],
  ])('tells the state of %d instances, in a hello that the server reads', async (count, atOnce) => {
    const server = await listening();
    const instances = Array.from({ length: count }, (_, i) => ({
      id: `chain.nf.${i}`,
      state: 'failed' as const,
      detail: 'x'.repeat(200),
    }));
    connect({ server, observed: { ...observed, instances } });
    await until('it has told', () => server.all('hello').length + server.all('observed').length === (atOnce ? 1 : 2));
    const [hello] = server.all('hello');
    const [told = hello] = server.all('observed');
    expect(Buffer.byteLength(JSON.stringify(hello))).toBeLessThanOrEqual(HELLO_MOST_BYTES);
    expect(told!.observed?.instances).toHaveLength(count);
  });

  it('sends what was observed between hello and welcome', async () => {
    const server = await listening();
    server.onHello = () => null;
    const { link } = connect({ server });
    await server.next('hello');
    link.observed({ type: 'observed', observed: { ...observed, generation: 4 } });
    server.send(welcome());
    expect((await server.next('observed')).observed.generation).toBe(4);
  });

  it('passes on desired state and marks the first of a connection', async () => {
    const server = await listening();
    const { link, desired } = connect({ server });
    await until('welcome', () => link.connected);
    for (const generation of [7, 8]) server.send({ type: 'desired', spec: linearChain(generation) });
    await until('both', () => desired.length === 2);
    expect(desired.map(([{ generation }, first]) => [generation, first])).toEqual([
      [7, true],
      [8, false],
    ]);
  });

  it('names the field of an invalid message, and accepts the next one', async () => {
    const server = await listening();
    const { link, desired, invalid } = connect({ server });
    await until('welcome', () => link.connected);
    const spec = linearChain(1);
    server.send('{');
    server.send(JSON.stringify({ type: 'desired', spec: { ...spec, gateway_mac: 'x' } }));
    server.send(JSON.stringify({ type: 'dance' }));
    server.send(JSON.stringify({ type: 'desired', spec: { ...spec, colour: 'red' } }));
    server.send({ type: 'desired', spec });
    await until('the good one', () => desired.length === 1);
    expect(invalid[0]).toContain('JSON');
    expect(invalid[1]).toContain('/spec/gateway_mac');
    expect(invalid[2]).toContain('/type');
    expect(invalid[3]).toContain('colour');
  });

  it('answers calls with a result or a reason', async () => {
    const server = await listening();
    const call = async ({ instance_id }: Call) => {
      if (instance_id === 'bad') throw new Error('no such instance');
      return { of: instance_id };
    };
    const { link } = connect({ server, call });
    await until('welcome', () => link.connected);
    for (const [id, instance_id] of [
      ['c1', 'good'],
      ['c2', 'bad'],
    ] as const)
      server.send({ type: 'call', id, method: 'export_state', instance_id, params: {} });
    expect(await server.next('reply', ({ id }) => id === 'c1')).toMatchObject({ result: { of: 'good' }, error: null });
    expect(await server.next('reply', ({ id }) => id === 'c2')).toMatchObject({ error: 'no such instance' });
  });

  it('connects with the same credential, even if it cannot be stored', async () => {
    const server = await listening();
    const file = join(scratchDirectory(), 'file');
    writeFileSync(file, '');
    const { link } = connect({ server, state_dir: join(file, 'state') });
    await until('welcome', () => link.connected);
    for (const socket of server.sockets) socket.terminate();
    await until('it is back', () => server.all('hello').length === 2);
    expect(new Set(server.all('hello').map(({ credential }) => credential)).size).toBe(1);
  });

  it('reconnects after a refusal', async () => {
    const server = await listening();
    let refusals = 2;
    server.onHello = () =>
      refusals-- > 0 ? { type: 'refused', detail: 'not yet', credential_revoked: false } : welcome();
    const { link } = connect({ server });
    await until('welcome', () => link.connected);
    expect(server.all('hello').length).toBe(3);
  });

  it('does not use the credential of another node', () => {
    const state_dir = scratchDirectory();
    const theirs = new CredentialStore(state_dir, 'n2').get();
    expect(new CredentialStore(state_dir, 'n1').get()).not.toBe(theirs);
  });

  it('disconnects from a server that is silently gone', async () => {
    const server = await listening();
    const { link } = connect({ server, silence_ms: 200 });
    await until('welcome', () => link.connected);
    const before = server.all('hello').length;
    // A paused socket reads nothing, so no ping is answered and no close is seen.
    for (const socket of server.sockets) socket.pause();
    await until('it comes back over a new connection', () => server.all('hello').length > before);
  });
});
