import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { scratchDirectory, until } from './scratch.js';

const SCHEMA = '/usr/share/openvswitch/vswitch.ovsschema';

/** Why Open vSwitch cannot run here; null if it can. */
export function ovsMissing(): string | null {
  if (process.getuid?.() !== 0) return 'needs root for network namespaces';
  if (!existsSync(SCHEMA)) return 'needs Open vSwitch';
  return null;
}

let labs = 0;

/** A private Open vSwitch with one bridge, in its own network namespace. */
export class OvsLab {
  readonly bridge = 'br0';
  readonly directory = scratchDirectory();
  readonly run_dir = join(this.directory, 'ovs');
  readonly namespace = `orv${process.pid}-${labs++}`;
  private readonly daemons: ChildProcess[] = [];

  constructor() {
    onTestFinished(() => this.tearDown());
  }

  /** Creates ports with these names, each one end of a cable whose other end is `<name>-far`. */
  async setUp(ports: readonly string[]): Promise<void> {
    mkdirSync(this.run_dir);
    execFileSync('ip', ['netns', 'add', this.namespace]);
    this.run('ip', 'link', 'set', 'lo', 'up');
    const database = join(this.run_dir, 'conf.db');
    execFileSync('ovsdb-tool', ['create', database, SCHEMA]);
    const quiet = ['-vsyslog:off', '-vfile:off', '-vconsole:off'];
    this.daemon('ovsdb-server', database, `--remote=punix:${this.run_dir}/db.sock`, '--pidfile', ...quiet);
    await until('the database', () => existsSync(join(this.run_dir, 'db.sock')));
    // Its socket is there before it listens.
    this.vsctl('--retry', '--no-wait', 'init');
    await this.startSwitch();
    this.vsctl('add-br', this.bridge, '--', 'set', 'Bridge', this.bridge, 'datapath_type=netdev', 'fail_mode=secure');
    this.vsctl('set', 'Bridge', this.bridge, 'protocols=OpenFlow15');
    for (const port of ports) this.plug(port);
  }

  async startSwitch(): Promise<void> {
    const before = existsSync(join(this.run_dir, 'ovs-vswitchd.pid'));
    const quiet = ['-vsyslog:off', '-vfile:off', '-vconsole:off'];
    this.daemon('ovs-vswitchd', `unix:${this.run_dir}/db.sock`, '--pidfile', ...quiet);
    if (before) this.vsctl('--timeout=10', 'set', 'Open_vSwitch', '.', `external_ids:restarted=${Date.now()}`);
  }

  plug(port: string): void {
    this.run('ip', 'link', 'add', port, 'type', 'veth', 'peer', 'name', `${port}-far`);
    for (const end of [port, `${port}-far`]) this.run('ip', 'link', 'set', 'dev', end, 'addrgenmode', 'none', 'up');
    this.vsctl('add-port', this.bridge, port);
  }

  vsctl(...args: string[]): string {
    return this.run('ovs-vsctl', `--db=unix:${this.run_dir}/db.sock`, '--timeout=10', ...args);
  }

  ofctl(command: string, ...args: string[]): string {
    return this.run('ovs-ofctl', '-O', 'OpenFlow15', command, `unix:${this.run_dir}/${this.bridge}.mgmt`, ...args);
  }

  /** Flows in the bridge, one per line. */
  flows(): string[] {
    return this.ofctl('dump-flows')
      .split('\n')
      .filter((line) => line.includes('cookie='));
  }

  /** What the bridge would do with a packet: the datapath's actions. */
  trace(packet: string): string {
    return this.run('ovs-appctl', 'ofproto/trace', this.bridge, packet).split('Datapath actions:')[1]!.trim();
  }

  /** The port number in a trace's datapath actions. */
  datapathPort(port: string): string {
    return new RegExp(` ${port} \\d+/(\\d+):`).exec(this.run('ovs-appctl', 'dpif/show'))![1]!;
  }

  run(program: string, ...args: string[]): string {
    const environment = { ...process.env, OVS_RUNDIR: this.run_dir };
    return execFileSync('ip', ['netns', 'exec', this.namespace, program, ...args], {
      env: environment,
      timeout: 20_000,
    }).toString();
  }

  private daemon(program: string, ...args: string[]): void {
    const environment = { ...process.env, OVS_RUNDIR: this.run_dir };
    this.daemons.push(
      spawn('ip', ['netns', 'exec', this.namespace, program, ...args], { env: environment, stdio: 'ignore' }),
    );
  }

  private async tearDown(): Promise<void> {
    for (const daemon of this.daemons) daemon.kill('SIGKILL');
    await until('the daemons end', () =>
      this.daemons.every(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null),
    );
    execFileSync('ip', ['netns', 'del', this.namespace]);
  }
}
