import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { switchBmv2 } from '../drivers/switch-bmv2/switch-bmv2.js';
import type { SwitchDriver } from '../drivers/switch-driver.js';
import { switchP4 } from '../drivers/switch-p4/switch-p4.js';
import { PACKAGE_ROOT } from '../package-root.js';
import { scratchDirectory, until } from './scratch.js';

const PROGRAM = process.env.ORRERY_P4_SWITCH_COMMAND ?? join(PACKAGE_ROOT, '../build/p4/switch/orrery-p4-switch');

/** Why the built-in P4 switch cannot run here; null if it can. */
export function p4Missing(program = PROGRAM): string | null {
  if (process.getuid?.() !== 0) return 'needs root for network namespaces';
  for (const needed of [program, join(PACKAGE_ROOT, 'generated/p4runtime.json')])
    if (!existsSync(needed)) return `needs ${needed}`;
  return null;
}

let labs = 0;

/**
 * As on the links of a P4 switch in the twin. Where one is on, libpcap makes room for frames of 64 KiB, of which 32 fit the
 * capture ring of a port of simple_switch, so that it loses the rest of a burst.
 */
const OFFLOADS_OFF = ['tso', 'gso', 'gro', 'tx'].flatMap((each) => [each, 'off']);

/** Why simple_switch_grpc cannot run here; null if it can. */
export function bmv2Missing(): string | null {
  const program = process.env.ORRERY_BMV2;
  if (!program) return 'needs ORRERY_BMV2, the path of simple_switch_grpc';
  return p4Missing(program);
}

/** A P4 switch in its own network namespace: the built-in one, or `bmv2` the reference switch. */
export class P4Lab {
  readonly namespace = `p4v${process.pid}-${labs++}`;
  readonly directory = scratchDirectory();
  readonly socket = join(this.directory, 'p4runtime.sock');
  /** Leads to the Thrift port of simple_switch in its namespace. */
  private readonly thrift = join(this.directory, 'thrift.sock');
  private relay: ChildProcess | null = null;
  private readonly ports: string[] = [];
  private process: ChildProcess | null = null;

  constructor(private readonly kind: 'p4' | 'bmv2' = 'p4') {
    onTestFinished(() => this.tearDown());
  }

  get pid(): number {
    return this.process!.pid!;
  }

  make(): SwitchDriver {
    const ports = Object.fromEntries(this.ports.map((name, i) => [name, { number: i + 1 }]));
    const place = { p4runtime: `unix:${this.socket}`, device_id: 1, ports };
    return this.kind === 'p4'
      ? switchP4.make({ ...place, control: join(this.directory, 'control.sock') })
      : switchBmv2.make({ ...place, thrift: `unix:${this.thrift}` });
  }

  /** Creates ports with these names, each one end of a cable whose other end is `<name>-far`. */
  async setUp(ports: readonly string[]): Promise<void> {
    execFileSync('ip', ['netns', 'add', this.namespace]);
    this.run('ip', 'link', 'set', 'lo', 'up');
    for (const port of ports) {
      this.run('ip', 'link', 'add', port, 'type', 'veth', 'peer', 'name', `${port}-far`);
      for (const end of [port, `${port}-far`]) {
        this.run('ethtool', '-K', end, ...OFFLOADS_OFF);
        this.run('ip', 'link', 'set', 'dev', end, 'addrgenmode', 'none', 'up');
      }
      this.ports.push(port);
    }
    if (this.kind === 'bmv2') this.relay = this.startRelay();
    await this.start();
  }

  private startRelay(): ChildProcess {
    const program = `
      const net = require('node:net');
      net.createServer((near) => {
        const far = net.connect(9090, '127.0.0.1');
        for (const [from, to] of [[near, far], [far, near]]) from.pipe(to).on('error', () => from.destroy());
      }).listen(process.argv[1]);`;
    return spawn('ip', ['netns', 'exec', this.namespace, process.execPath, '-e', program, this.thrift], {
      stdio: 'ignore',
    });
  }

  async start(): Promise<void> {
    const process = spawn('ip', ['netns', 'exec', this.namespace, ...this.command()], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    this.process = process;
    const driver = this.make();
    await until('the switch answers', async () => {
      if (process.exitCode !== null) throw new Error(`the switch exited with ${process.exitCode}`);
      return driver.probe(1000).then(
        () => true,
        () => false,
      );
    });
  }

  private command(): string[] {
    const ports = this.ports.map((port, i) => `${i + 1}@${port}`);
    const runtime = `unix:${this.socket}`;
    if (this.kind === 'p4') {
      const place = ['--device-id', '1', '--p4runtime', runtime, '--control', join(this.directory, 'control.sock')];
      return [PROGRAM, ...place, ...ports.flatMap((port) => ['--port', port])];
    }
    const general = ['--no-p4', '--device-id', '1', '--log-level', 'off', ...ports.flatMap((port) => ['-i', port])];
    return [process.env.ORRERY_BMV2!, ...general, '--', '--grpc-server-addr', runtime];
  }

  async kill(): Promise<void> {
    const { process } = this;
    process!.kill('SIGKILL');
    await until('the switch ends', () => process!.exitCode !== null || process!.signalCode !== null);
  }

  run(program: string, ...args: string[]): string {
    return execFileSync('ip', ['netns', 'exec', this.namespace, program, ...args], { timeout: 20_000 }).toString();
  }

  private async tearDown(): Promise<void> {
    if (this.process) await this.kill();
    this.relay?.kill('SIGKILL');
    execFileSync('ip', ['netns', 'del', this.namespace]);
  }
}
