import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { onTestFinished } from 'vitest';
import { DockerClient } from '../drivers/container/docker-client.js';
import { callDocker, openStream } from '../drivers/container/docker-http.js';
import { PACKAGE_ROOT } from '../package-root.js';
import { labMissing } from './lab.js';
import { scratchDirectory, until } from './scratch.js';

export const NF_IMAGE = process.env.ORRERY_NF_IMAGE ?? resolve(PACKAGE_ROOT, '../build/container-nf/container-nf.tar');

/** Why lab tests with containers cannot run here; null if they can. */
export function dockerMissing(): string | null {
  const missing = labMissing();
  if (missing !== null) return missing;
  if (!existsSync('/usr/sbin/dockerd') && !existsSync('/usr/bin/dockerd')) return 'needs dockerd';
  return existsSync(NF_IMAGE) ? null : `needs the image of NFs: ${NF_IMAGE} is not built`;
}

/** The first process reaps orphans; when it ends, everything in the namespaces ends. */
const FIRST = 'mount -t tmpfs none /run && mkdir /run/netns && ip link set lo up; sleep infinity & wait';
const CGROUPS = '/sys/fs/cgroup';
const INTRUDER = join(PACKAGE_ROOT, 'src/testing/intruder.py');

/** Privileges, as the kernel shows them in the status of a process; paths are in the container. */
export interface Intrusion extends Record<'CapInh' | 'CapPrm' | 'CapEff' | 'CapAmb' | 'NoNewPrivs', string> {
  uid: number;
  gid: number;
  files: string[];
  writable: string[];
}

let sandboxes = 0;

/** An isolated Docker: in its own network, mount and PID namespaces, with its own data and cgroups. */
export class DockerSandbox {
  readonly directory = scratchDirectory();
  readonly socket = join(this.directory, 'd.sock');
  readonly client = new DockerClient(this.socket);
  private readonly cgroup = `orrery-lab-${process.pid}-${sandboxes++}`;
  private unshare: ChildProcess | null = null;
  private docker: ChildProcess | null = null;
  private first = 0;

  /** `disk_mib`: what Docker has for images and containers; absent: all of this machine's disk. */
  constructor(private readonly disk_mib?: number) {
    onTestFinished(() => this.tearDown());
  }

  /** Command prefix that runs another command in the namespaces. */
  get enter(): string[] {
    return ['nsenter', '-t', String(this.first), '-n', '-m', '-p', '--'];
  }

  async setUp(): Promise<void> {
    const flags = ['--net', '--mount', '--pid', '--fork', '--mount-proc', '--kill-child'];
    this.unshare = spawn('unshare', [...flags, 'bash', '-c', FIRST], { stdio: 'ignore' });
    this.first = await until('the first process runs', () => childOf(this.unshare!.pid!));
    await until('its /run is there', () => this.run('test', '-d', '/run/netns'));
    if (this.disk_mib !== undefined) {
      const data = join(this.directory, 'data');
      mkdirSync(data);
      this.inside('mount', '-t', 'tmpfs', '-o', `size=${this.disk_mib}m`, 'none', data);
    }
    await this.startDocker();
  }

  /** Takes all that is left of Docker's disk, or gives it back. */
  fillDisk(isFull: boolean): void {
    const filler = join(this.directory, 'data', 'filler');
    if (isFull) this.inside('sh', '-c', `cat /dev/zero >${filler} 2>/dev/null; test -s ${filler}`);
    else this.inside('rm', filler);
  }

  private inside(...command: string[]): void {
    if (!this.run(...command)) throw new Error(`${command.join(' ')} fails in the sandbox`);
  }

  async startDocker(): Promise<void> {
    const log = openSync(join(this.directory, 'dockerd.log'), 'a');
    const own = (name: string) => join(this.directory, name);
    const options = {
      host: `unix://${this.socket}`,
      'data-root': own('data'),
      'exec-root': own('exec'),
      pidfile: own('pid'),
      'storage-driver': 'overlay2',
      'cgroup-parent': `/${this.cgroup}`,
      'live-restore': true,
      bridge: 'none',
      iptables: false,
    };
    const flags = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
    const [command, ...args] = [...this.enter, 'dockerd', ...flags];
    this.docker = spawn(command!, args, { stdio: ['ignore', log, log] });
    const answers = () =>
      this.client.ping().then(
        () => true,
        () => false,
      );
    await until('Docker answers', answers, 30_000).catch((error) => {
      throw new Error(`${error.message}\n${readFileSync(own('dockerd.log'), 'utf8').slice(-2000)}`);
    });
  }

  /** Kills Docker; containers keep running. */
  async killDocker(): Promise<void> {
    const { docker } = this;
    process.kill(childOf(docker!.pid!)!, 'SIGKILL');
    await new Promise((done) => docker!.once('exit', done));
  }

  /** Docker answers no requests, and its connections stay open. */
  freezeDocker(): void {
    process.kill(childOf(this.docker!.pid!)!, 'SIGSTOP');
  }

  /** Resumes a frozen Docker, with everything that had entered the namespaces and stopped with it. */
  thawDocker(): void {
    this.docker?.kill('SIGCONT');
  }

  /** Containers of the agent, including stopped ones. */
  list(): ReturnType<DockerClient['list']> {
    return this.client.list('orrery.node=n1');
  }

  /** Kills the process of a container, as the kernel would. */
  async kill(container: string, signal: 'KILL' | 'STOP' = 'KILL'): Promise<void> {
    this.killInside(await this.pidOf(container), signal);
  }

  /** In the PID namespace of the sandbox. */
  async pidOf(container: string): Promise<number> {
    return (await this.client.inspect(container))!.pid;
  }

  /** Saves an image in a file. */
  async save(reference: string, file: string): Promise<void> {
    const stream = await openStream(this.socket, {
      to: 'save an image',
      method: 'GET',
      path: `/images/${reference}/get`,
    });
    await pipeline(stream, createWriteStream(file));
  }

  async pause(container: string): Promise<void> {
    await callDocker(this.socket, { to: 'pause a container', method: 'POST', path: `/containers/${container}/pause` });
  }

  killInside(pid: number, signal: 'KILL' | 'STOP' = 'KILL'): void {
    this.run('kill', `-${signal}`, String(pid));
  }

  /** What an exploited fault of the NF in a container would give access to. */
  async intrude(container: string): Promise<Intrusion> {
    const [program, ...args] = [...this.enter, '/usr/bin/python3', INTRUDER, String(await this.pidOf(container))];
    return JSON.parse(execFileSync(program!, args).toString()) as Intrusion;
  }

  /** From now on, the next memory allocation of a container exceeds its limit. */
  starve(container: string): void {
    for (const [usage, limit] of [
      ['memory.usage_in_bytes', 'memory.limit_in_bytes'],
      ['memory.current', 'memory.max'],
    ])
      for (const path of this.cgroups().filter((folder) => folder.endsWith(container)))
        if (existsSync(join(path, usage!))) writeFileSync(join(path, limit!), readFileSync(join(path, usage!)));
  }

  /** Folders of the containers' cgroups. */
  cgroups(): string[] {
    return readdirSync(CGROUPS).flatMap((controller) => {
      const parent = join(CGROUPS, controller, this.cgroup);
      return existsSync(parent) ? folders(parent).map((name) => join(parent, name)) : [];
    });
  }

  private run(...command: string[]): boolean {
    const [program, ...args] = [...this.enter, ...command];
    try {
      execFileSync(program!, args, { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  }

  private async tearDown(): Promise<void> {
    const { unshare } = this;
    if (!unshare || unshare.exitCode !== null || unshare.signalCode !== null) return;
    // A stopped process reaps no children.
    this.thawDocker();
    unshare.kill('SIGKILL');
    // The first process of a PID namespace ends last.
    await until('all have ended', () => !existsSync(`/proc/${this.first}`));
    await until('cgroups are empty', () => this.removeCgroups());
  }

  private removeCgroups(): boolean {
    for (const path of this.cgroups()) quietly(() => rmdirSync(path));
    for (const controller of readdirSync(CGROUPS)) quietly(() => rmdirSync(join(CGROUPS, controller, this.cgroup)));
    return !readdirSync(CGROUPS).some((controller) => existsSync(join(CGROUPS, controller, this.cgroup)));
  }
}

/** The only child of a process; null while it has none. */
export function childOf(pid: number): number | null {
  try {
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
    return child ? Number(child) : null;
  } catch {
    return null;
  }
}

function folders(path: string): string[] {
  const entries = readdirSync(path, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // Gone, or not empty yet.
  }
}
