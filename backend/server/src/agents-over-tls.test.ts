import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configFrom } from './platform/config.js';
import { liveInfrastructure } from './testing/live-infrastructure.js';
import { Scratch, TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const ROOT = resolve(import.meta.dirname, '../../..');

const SITE = liveInfrastructure(['edge-1']);

/** Command line of a unit. */
function commandOf(unit: string): string {
  const text = readFileSync(join(ROOT, 'packaging/systemd', unit), 'utf8');
  return /^ExecStart=((?:.*\\\n)*.*)$/m.exec(text)![1]!.replaceAll('\\\n', ' ');
}

/** Two authorities, and a certificate for 127.0.0.1 by the first. */
function makeCertificates(directory: string): void {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: directory, stdio: 'pipe' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  for (const name of ['ca', 'stranger'])
    openssl('req', '-x509', ...key, '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.pem`);
  const by = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-addext', 'basicConstraints=critical,CA:FALSE'];
  const names = ['-addext', 'subjectAltName=IP:127.0.0.1'];
  openssl('req', '-x509', ...key, ...by, ...names, '-subj', '/CN=console', '-keyout', 'key.pem', '-out', 'cert.pem');
}

describe('agents over TLS', () => {
  let scratch: Scratch;
  let server: TestServer;
  let etc: string;
  const agents: ChildProcess[] = [];
  let output = '';

  beforeEach(async () => {
    scratch = new Scratch();
    etc = join(scratch.path, 'etc');
    mkdirSync(etc);
    makeCertificates(etc);
    const env = { ORRERY_TLS_CERT: join(etc, 'cert.pem'), ORRERY_TLS_KEY: join(etc, 'key.pem') };
    server = await TestServer.start({ env, ca: readFileSync(join(etc, 'ca.pem'), 'utf8') }, scratch);
    await server.api.call('putInfrastructure', { body: SITE });
    output = '';
  });
  afterEach(async () => {
    for (const agent of agents.splice(0)) {
      const ended = new Promise((done) => agent.once('exit', done));
      if (agent.exitCode === null && agent.signalCode === null && agent.kill('SIGTERM')) await ended;
    }
    await server.stop();
  });

  const token = async (node: string) => (await server.api.call('createJoinToken', { body: { node } })).token;
  const stateOf = async (node: string) => {
    const { items } = await server.api.call('listNodes');
    return items.find(({ id }) => id === node)!.state;
  };

  /** Runs the command of a unit, with places and interface of this machine. */
  function run(unit: string, authority: string, env: Record<string, string> = {}, host = '127.0.0.1'): ChildProcess {
    const { port } = new URL(server.running.url);
    const [program, ...args] = commandOf(unit)
      .replace('/usr/bin/node', process.execPath)
      .replace('/opt/orrery/agent.mjs', join(ROOT, 'agents/node/dist/agent.mjs'))
      .replace('/opt/orrery/orrery-engine', join(scratch.path, 'no-engine'))
      .replace('console.example', `${host}:${port}`)
      .replace('/etc/orrery/ca.pem', join(etc, authority))
      .replace('/etc/orrery', etc)
      .replaceAll('/var/lib/', `${scratch.path}/`)
      .replace('/run/orrery-agent', join(scratch.path, 'a'))
      .replace('--iface eth1', '--iface lo')
      .split(/\s+/);
    const agent = spawn(program!, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [agent.stdout!, agent.stderr!]) stream.on('data', (chunk) => (output += chunk));
    agents.push(agent);
    return agent;
  }

  async function writeSwitches(): Promise<void> {
    const tor = { node: 'tor', driver: 'ovs', bridge: 'none', run_dir: scratch.path, join_token: await token('tor') };
    writeFileSync(join(etc, 'switches.json'), JSON.stringify([tor]), { mode: 0o600 });
  }

  it('join with the commands of the units and their one-time tokens', async () => {
    await writeSwitches();
    run('orrery-switches.service', 'ca.pem');
    run('orrery-agent.service', 'ca.pem', { ORRERY_JOIN_TOKEN: await token('edge-1') });
    for (const node of ['tor', 'edge-1'])
      await until(`${node} joins`, async () => (await stateOf(node)) === 'connected');
  });

  it('do not talk to a server whose authority they do not know, and keep their token', async () => {
    await writeSwitches();
    const agent = run('orrery-switches.service', 'stranger.pem');
    await until('it says why', () => output.includes('no connection to wss://127.0.0.1'));
    expect(output).toMatch(
      /the server's certificate is not signed by a trusted authority \(.+\); give the authority with --ca/,
    );
    expect(await stateOf('tor')).toBe('never-seen');
    agent.kill('SIGTERM');
    run('orrery-switches.service', 'ca.pem');
    await until('it joins by the same token', async () => (await stateOf('tor')) === 'connected');
  });

  it('do not talk to a server whose certificate is for another host', async () => {
    await writeSwitches();
    run('orrery-switches.service', 'ca.pem', {}, 'localhost');
    await until('it says why', () => output.includes('no connection to wss://localhost'));
    expect(output).toContain("the server's certificate is for another host");
    expect(await stateOf('tor')).toBe('never-seen');
  });

  it.each([
    ['is missing', 'no.pem', /--ca ENOENT/],
    ['contains no certificate', 'key.pem', /--ca .*key\.pem contains no certificate/],
  ])('do not start when the file of authorities %s', async (_, file, why) => {
    await writeSwitches();
    const agent = run('orrery-switches.service', file);
    expect(await new Promise((done) => agent.once('exit', done))).toBe(2);
    expect(output).toMatch(why);
  });

  it('need a server that has both certificate and key, of one pair', () => {
    const refused = (env: Record<string, string>) => () => configFrom(scratch.env({ env }));
    const [cert, key, other] = ['cert.pem', 'key.pem', 'ca.key'].map((name) => join(etc, name));
    expect(refused({ ORRERY_TLS_CERT: cert! })).toThrow('ORRERY_TLS_KEY: is missing');
    expect(refused({ ORRERY_TLS_KEY: key! })).toThrow('ORRERY_TLS_CERT: is missing');
    expect(refused({ ORRERY_TLS_CERT: key!, ORRERY_TLS_KEY: key! })).toThrow(/^ORRERY_TLS_CERT: .* cannot be used/);
    expect(refused({ ORRERY_TLS_CERT: cert!, ORRERY_TLS_KEY: other! })).toThrow(
      'ORRERY_TLS_KEY: is not the key of ORRERY_TLS_CERT',
    );
  });
});
