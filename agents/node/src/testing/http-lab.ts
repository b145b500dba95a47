import { execFile, spawn } from 'node:child_process';
import { existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { PACKAGE_ROOT } from '../package-root.js';
import { Lab } from './lab.js';
import { until } from './scratch.js';

const run = promisify(execFile);

export const CLIENT = '10.0.1.2';
export const ORIGIN = '10.0.2.2';
export const EXTERNAL = '198.18.0.1';
/** What the node takes for the gateway of the fabric. */
const GATEWAY_MAC = '02:00:00:00:00:fe';
const PYTHON = '/usr/bin/python3';

const GET = `
import http.client, json, sys
host, path, name = sys.argv[1:]
c = http.client.HTTPConnection(host, 80, timeout=10)
c.request('GET', path, headers={'Host': name})
r = c.getresponse()
body = r.read()
print(json.dumps({'status': r.status, 'bytes': len(body), 'cache': (r.headers.get('X-Cache') or '').split(' ')[0]}))
`;

const ASK = `
import socket, sys
host, port, kind = sys.argv[1:]
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM if kind == 'tcp' else socket.SOCK_DGRAM)
s.settimeout(10)
s.connect((host, int(port)))
s.send(b'?')
print(s.recv(100).decode())
`;

export interface Answer {
  status: number;
  bytes: number;
  cache: string;
}

/** A client and an origin with network stacks of their own; what lies between them and the node routes as the fabric does. */
export class HttpLab extends Lab {
  private readonly client = `${this.outside}c`;
  private readonly origin = `${this.outside}s`;
  private readonly log = join(this.directory, 'origin.log');

  override async setUp(): Promise<void> {
    await super.setUp();
    this.attach(this.client, 'c0', CLIENT);
    this.attach(this.origin, 'o0', ORIGIN);
    const outside = (...words: string[]) => this.run('ip', 'netns', 'exec', this.outside, ...words);
    const settings = ['ip_forward=1', ...['all', 'p0', 'c0', 'o0'].map((name) => `conf.${name}.rp_filter=0`)];
    outside('sysctl', '-q', '-w', ...settings.map((each) => `net.ipv4.${each}`));
    outside('ip', 'link', 'set', 'p0', 'address', GATEWAY_MAC);
    // The client's packets take hop 1, packets to the external address hop 2, which is that of replies.
    for (const [hop, from, to] of [
      [1, 'c0', 'default'],
      [2, 'o0', EXTERNAL],
    ]) {
      const [address, table] = [`169.254.0.1${hop}`, `20${hop}`];
      outside('ip', 'neigh', 'add', address, 'lladdr', `02:0e:00:0${hop}:00:00`, 'dev', 'p0', 'nud', 'permanent');
      outside('ip', 'route', 'add', String(to), 'via', address, 'dev', 'p0', 'onlink', 'table', table);
      outside('ip', 'rule', 'add', 'iif', String(from), 'lookup', table);
    }
    const [program, ...args] = this.inside(this.origin, PYTHON, join(PACKAGE_ROOT, 'src/testing/origin.py'));
    const started = spawn(program!, args, { stdio: ['ignore', openSync(this.log, 'a'), 'inherit'] });
    onTestFinished(() => void started.kill('SIGKILL'));
    await until('the origin answers', async () => {
      const [asks, ...words] = this.inside(this.origin, PYTHON, '-c', GET, '127.0.0.1', '/ready', 'origin');
      return run(asks!, words).then(
        () => true,
        () => false,
      );
    });
  }

  /** What the client gets for a page of the origin. */
  async get(path: string, name = ORIGIN): Promise<Answer> {
    return JSON.parse(await this.ofClient(GET, ORIGIN, path, name)) as Answer;
  }

  /** As whom the origin sees the client. */
  async seenAs(kind: 'tcp' | 'udp', port: number): Promise<string> {
    return (await this.ofClient(ASK, ORIGIN, String(port), kind)).trim();
  }

  /** Requests that have reached the origin for a page. */
  requests(path: string): { from: string; for: string | null }[] {
    const lines = existsSync(this.log) ? readFileSync(this.log, 'utf8').split('\n').filter(Boolean) : [];
    return lines.map((line) => JSON.parse(line)).filter((seen) => seen.path === path);
  }

  private async ofClient(program: string, ...args: string[]): Promise<string> {
    const [command, ...words] = this.inside(this.client, PYTHON, '-c', program, ...args);
    const { stdout } = await run(command!, words);
    return stdout;
  }

  private inside(namespace: string, ...command: string[]): string[] {
    return [...this.sandbox, 'ip', 'netns', 'exec', namespace, ...command];
  }

  private attach(namespace: string, port: string, address: string): void {
    this.run('ip', 'netns', 'add', namespace);
    onTestFinished(() => void this.run('ip', 'netns', 'del', namespace));
    const inside = (...words: string[]) => this.run('ip', 'netns', 'exec', namespace, ...words);
    inside('ip', 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', port, 'netns', this.outside);
    for (const word of ['lo', 'eth0']) inside('ip', 'link', 'set', word, 'up');
    // The engine takes frames as they are.
    inside('ethtool', '-K', 'eth0', 'tx', 'off', 'tso', 'off', 'gso', 'off');
    inside('ip', 'address', 'add', `${address}/24`, 'dev', 'eth0');
    inside('ip', 'route', 'add', 'default', 'via', gatewayOf(address));
    this.run('ip', '-n', this.outside, 'link', 'set', port, 'up');
    this.run('ip', '-n', this.outside, 'address', 'add', `${gatewayOf(address)}/24`, 'dev', port);
  }
}

const gatewayOf = (address: string) => address.replace(/\d+$/, '1');
