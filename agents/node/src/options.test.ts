import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readOptions, UsageError } from './options.js';

const good = {
  server: 'ws+unix:/run/o/agents.sock:/api/v1/agent',
  node: 'server-1',
  origin: 'twin',
  iface: 'eth0',
  'state-dir': '/tmp/s',
  'run-dir': '/tmp/r',
};

const args = (over: Record<string, string> = {}) =>
  Object.entries({ ...good, ...over }).flatMap(([flag, value]) => [`--${flag}`, value]);

function refusal(list: string[], env = {}): string {
  try {
    readOptions(list, env);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error('accepted');
}

describe('readOptions', () => {
  it('reads flags', () => {
    expect(readOptions(args({ 'join-token': 't', memory: 'no-huge', boards: 'b.json' }), {})).toMatchObject({
      server: good.server,
      node: 'server-1',
      origin: 'twin',
      state_dir: '/tmp/s',
      join_token: 't',
      boards: 'b.json',
      memory: 'no-huge',
      on_exit: 'stop',
    });
  });

  it.each(['ws://127.0.0.1:8080/api/v1/agent', 'wss://orrery.example/api/v1/agent'])('takes %s', (server) => {
    expect(readOptions(args({ server }), {})?.server).toBe(server);
  });

  it('checks the server of wss:// against the CA certificates of the system by default', () => {
    const wss = { server: 'wss://orrery.example/api/v1/agent' };
    const system = '/etc/ssl/certs/ca-certificates.crt';
    expect(readOptions(args(wss), {})?.ca).toBe(existsSync(system) ? readFileSync(system, 'utf8') : undefined);
    expect(readOptions(args(), {})?.ca).toBeUndefined();
    expect(refusal(args({ ca: '/ca.pem' }))).toBe('--ca needs a server of wss://');
    expect(refusal(args({ ...wss, ca: '/no/ca.pem' }))).toMatch(/^--ca ENOENT/);
  });

  it('leaves the engine of a live node running by default', () => {
    expect(readOptions(args({ origin: 'live' }), {})?.on_exit).toBe('keep');
    expect(readOptions(args({ origin: 'live', 'on-exit': 'stop' }), {})?.on_exit).toBe('stop');
  });

  it('falls back on the environment, flags first', () => {
    const env = { ORRERY_NODE: 'from-env', ORRERY_JOIN_TOKEN: 'secret' };
    expect(readOptions(args(), env)).toMatchObject({ node: 'server-1', join_token: 'secret' });
    expect(
      readOptions(args().slice(0, 2), {
        ...env,
        ORRERY_ORIGIN: 'live',
        ORRERY_IFACE: 'e',
        ORRERY_STATE_DIR: 's',
        ORRERY_RUN_DIR: 'r',
      })?.node,
    ).toBe('from-env');
  });

  it('defaults to the usual paths of Docker and the NF image', () => {
    const options = readOptions(args(), {});
    expect(options?.docker).toBe('/run/docker.sock');
    expect(options?.nf_image).toMatch(/\/agents\/build\/container-nf\/container-nf\.tar$/);
    const env = { ORRERY_DOCKER: '/d', ORRERY_NF_IMAGE: '/b.tar' };
    expect(readOptions(args(), env)).toMatchObject({ docker: '/d', nf_image: '/b.tar' });
    expect(readOptions(args({ docker: '/e' }), env)).toMatchObject({ docker: '/e', nf_image: '/b.tar' });
  });

  it('prints help without any other flag', () => {
    expect(readOptions(['--help'], {})).toBeNull();
  });

  it('names every bad or missing flag', () => {
    const message = refusal(['--origin', 'moon', '--server', 'http://x', '--node', 'A B']);
    for (const flag of ['--server', '--node', '--origin', '--iface', '--state-dir', '--run-dir'])
      expect(message).toContain(flag);
  });

  it.each<[Record<string, string>, string]>([
    [{ iface: 'an-interface-name-too-long' }, '--iface'],
    [{ workers: 'two' }, '--workers must be a number'],
    [{ workers: '0' }, '--workers is at least 1'],
    [{ server: 'ws://host:999999/' }, '--server'],
    [{ server: 'ws+unix:agents.sock:/x' }, '--server'],
    [{ memory: 'lots' }, '--memory must be auto or no-huge or hugepages'],
    [{ docker: '' }, '--docker must be a socket'],
    [{ 'nf-image': '' }, '--nf-image must be a file'],
    [{ images: '' }, '--images must be a folder'],
    [{ 'run-dir': `/tmp/${'x'.repeat(82)}` }, '--run-dir is too long'],
  ])('refuses %j', (over, text) => {
    expect(refusal(args(over))).toContain(text);
  });

  it('refuses an unknown flag', () => {
    expect(refusal([...args(), '--verbose'])).toContain('--verbose');
  });
});
