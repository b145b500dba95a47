import {
  API_PREFIX,
  OpenShell,
  SHELL_WINDOW_BYTES,
  SHELLS_OF_SESSION,
  type ShellOutput,
  ShellServerMessage,
} from '@orrery/contract';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { ApiClient } from './testing/client.js';
import { eventsOf } from './testing/events.js';
import type { FakeAgent } from './testing/fake-agent.js';
import { monitorChain } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const CONTAINED = 'a.monitor.container-0';
const SIZE = { columns: 90, rows: 20 };

let server: TestServer;
let agent: FakeAgent;
const terminals: Terminal[] = [];

beforeEach(async () => {
  server = await TestServer.start({ twin: true });
  await server.bringUp();
  agent = server.agents.get('server-2')!;
  await agent.kill();
  agent.drivers = ['engine', 'container'];
  await agent.connect();
  const { id: chain_id } = await server.api.call('createChain', { body: monitorChain('a') });
  const implementations = [{ chain_id, node_id: 'monitor', on: 'container' as const }];
  const plan = await server.api.call('createPlan', { body: { chains: [{ chain_id }], implementations } });
  await server.finished((await server.api.call('createDeployment', { body: { plan_id: plan.id } })).id);
});
afterEach(async () => {
  for (const each of terminals.splice(0)) each.socket.terminate();
  await server.stop();
});

/** The terminal of a console. */
class Terminal {
  readonly told: ShellServerMessage[] = [];
  closed: number | null = null;
  readonly socket = new WebSocket(`${server.running.url.replace('http', 'ws')}${API_PREFIX}/shell`);

  constructor() {
    this.socket.on('message', (data) => this.told.push(ShellServerMessage.parse(JSON.parse(data.toString()))));
    this.socket.on('close', (code) => {
      this.closed = code;
    });
    this.socket.on('error', () => undefined);
    terminals.push(this);
  }

  /** Resolves with the first answer. */
  static async open(api: ApiClient = server.api, instance_id = CONTAINED): Promise<Terminal> {
    const terminal = new Terminal();
    await until('the socket opens', () => terminal.socket.readyState === WebSocket.OPEN);
    terminal.send({ type: 'open', token: api.token, instance_id, ...SIZE });
    await until('an answer', () => terminal.told.length > 0);
    return terminal;
  }

  send(message: unknown): void {
    this.socket.send(JSON.stringify(message));
  }

  /** Why it ended, or was refused. */
  async end(): Promise<string> {
    const is = (one: ShellServerMessage) => one.type === 'ended' || one.type === 'refused';
    await until('its end', () => this.told.some(is) && this.closed !== null);
    return (this.told.find(is) as { detail: string }).detail;
  }
}

/** Id of the shell that was opened last. */
const lastShell = () => OpenShell.parse(agent.calls.findLast(({ method }) => method === 'open_shell')!.params).shell;
const says = (message: ShellOutput, shell = lastShell()) => agent.send({ type: 'shell', shell, message });
const output = (bytes: Buffer) => ({ type: 'output' as const, base64: bytes.toString('base64') });
const events = async () =>
  eventsOf((await server.api.call('listEvents', { query: { limit: 1000 } })).items, 'shell.').map(
    ({ type, subject, actor, data }) => ({ type, subject, actor, ...data }),
  );

it('joins a terminal with a shell, and tells the log of its beginning and its end', async () => {
  const terminal = await Terminal.open();
  expect(terminal.told).toEqual([{ type: 'opened' }]);
  expect(agent.calls.at(-1)).toMatchObject({ method: 'open_shell', instance_id: CONTAINED, params: SIZE });
  says(output(Buffer.from('$ ')));
  await until('output', () => terminal.told.length === 2);
  expect(terminal.told[1]).toEqual(output(Buffer.from('$ ')));
  const sent = [
    { type: 'input', text: 'ls\r' },
    { type: 'resize', columns: 100, rows: 30 },
    { type: 'taken', bytes: 2 },
  ];
  for (const one of sent) terminal.send(one);
  await until('they arrive', () => agent.shells.length === 3);
  expect(agent.shells.map(({ message }) => message)).toEqual(sent);
  says({ type: 'ended', detail: 'the shell ended with exit code 0' });
  expect(await terminal.end()).toBe('the shell ended with exit code 0');
  await until('the log has both', async () => (await events()).length === 2);
  const about = { subject: CONTAINED, actor: 'admin', node: 'server-2' };
  expect(await events()).toEqual([
    { type: 'shell.opened', ...about, address: expect.stringContaining('127.0.0.1') },
    { type: 'shell.closed', ...about, why: 'the shell ended with exit code 0', open_ms: expect.any(Number) },
  ]);
});

it('is for administrators only, and an attempt of others is told', async () => {
  for (const role of ['viewer', 'operator', 'designer'] as const)
    expect(await (await Terminal.open(await server.session(role))).end()).toBe('a shell needs the role admin');
  expect(agent.calls.filter(({ method }) => method === 'open_shell')).toEqual([]);
  await until('it is told', async () => (await events()).length > 0);
  expect((await events())[0]).toMatchObject({
    type: 'shell.refused',
    why: 'a shell needs the role admin',
    actor: 'viewer',
  });
});

it('refuses what is out of turn, malformed, without a session, or not in a container', async () => {
  const early = new Terminal();
  await until('the socket opens', () => early.socket.readyState === WebSocket.OPEN);
  early.send({ type: 'input', text: 'ls' });
  expect(await early.end()).toBe('open a shell first');
  expect(await (await Terminal.open(server.api.as('none'))).end()).toBe('the token is not valid');
  expect(await (await Terminal.open(server.api, 'none.nf.0')).end()).toContain('There is no NF instance none.nf.0');
  const twice = await Terminal.open();
  twice.send({ type: 'open', token: server.api.token, instance_id: CONTAINED, ...SIZE });
  expect(await twice.end()).toBe('a shell is open already');
  const wrong = await Terminal.open();
  wrong.send({ type: 'resize', columns: 1, rows: 30 });
  expect(await wrong.end()).toContain('/columns');
  // Both were open, and are closed for their agent.
  await until('they are closed', () => agent.shells.filter(({ message }) => message.type === 'close').length === 2);
  agent.refusals.set('open_shell', 'its image has no shell: there is no /bin/sh in it');
  expect(await (await Terminal.open()).end()).toBe('server-2: its image has no shell: there is no /bin/sh in it');
});

it('closes the shell when the browser goes, and when its session ends', async () => {
  const gone = await Terminal.open();
  gone.socket.terminate();
  await until('it is closed', () => agent.shells.at(-1)?.message.type === 'close');
  const admin = await server.session('admin');
  const signedOut = await Terminal.open(admin);
  await admin.call('deleteSession');
  expect(await signedOut.end()).toBe('the session is over');
  await until('it is closed', () => agent.shells.filter(({ message }) => message.type === 'close').length === 2);
  await until(
    'the log has all',
    async () => (await events()).filter(({ type }) => type === 'shell.closed').length === 2,
  );
});

it('ends when the agent goes, and when it sends more than it was asked for', async () => {
  const left = await Terminal.open();
  await agent.kill();
  expect(await left.end()).toBe('the agent disconnected');
  await agent.connect();
  const flooded = await Terminal.open();
  const chunk = Buffer.alloc(16 * 1024, 'x');
  for (let bytes = 0; bytes <= 2 * SHELL_WINDOW_BYTES; bytes += chunk.length) says(output(chunk));
  expect(await flooded.end()).toBe('its agent sends more than it was asked for');
  const taking = await Terminal.open();
  for (let i = 0; i < 16; i++) {
    says(output(chunk));
    await until('it is shown', () => taking.told.length === i + 2);
    taking.send({ type: 'taken', bytes: chunk.length });
  }
  await until('all was passed on', () => agent.shells.filter(({ message }) => message.type === 'taken').length === 16);
  expect(taking.closed).toBeNull();
});

it('bounds the shells of a session', async () => {
  for (let i = 0; i < SHELLS_OF_SESSION; i++) expect((await Terminal.open()).told[0]!.type).toBe('opened');
  expect(await (await Terminal.open()).end()).toBe('too many shells are open: end one');
  terminals[0]!.socket.terminate();
  await until('its place is free', async () => (await Terminal.open()).told[0]!.type === 'opened');
});
