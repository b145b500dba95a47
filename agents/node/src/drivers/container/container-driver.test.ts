import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { AgentCapabilities, MAX_IMAGES } from '@orrery/contract';
import { expect, it, onTestFinished } from 'vitest';
import { eventLog, scratchDirectory, until } from '../../testing/scratch.js';
import { instance } from '../../testing/specs.js';
import { Programs } from '../legacy/programs.js';
import { nfConfig } from './container-config.js';
import { ContainerDriver } from './container-driver.js';
import type { ProbeTiming } from './docker-host.js';

const OWN_CGROUP = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n')[0]!;
const LABELS = { 'orrery.node': 'n1', 'orrery.instance': 'gone.nat.0' };
const NO_PROGRAM = 'gone';
const NAT_ONLY = '#!/bin/sh\necho \'["nat"]\'\n';

/** A Docker that runs this very process as each container, unless it is in another PID namespace. */
class FakeDocker {
  readonly asked: string[] = [];
  foreign = false;
  stubborn = false;
  /** Takes requests and answers none. */
  hung = false;
  /** Refuses to list containers. */
  blind = false;
  /** Names of the images that it has. */
  images: readonly string[] = [];
  private readonly streams = new Set<ServerResponse>();
  private server: Server | null = null;

  constructor(private readonly socket: string) {
    onTestFinished(() => this.close());
  }

  async listen(): Promise<void> {
    const server = createServer((request, response) => this.answer(`${request.method} ${request.url}`, response));
    this.server = server;
    await new Promise<void>((resolve) => server.listen(this.socket, resolve));
  }

  close(): void {
    this.server?.closeAllConnections();
    this.server?.close();
  }

  count(pattern: RegExp): number {
    return this.asked.filter((line) => pattern.test(line)).length;
  }

  private answer(line: string, response: ServerResponse): void {
    if (this.hung) return;
    if (line.includes('/events?')) {
      this.asked.push(line);
      response.flushHeaders();
      this.streams.add(response);
      return;
    }
    // Counted once it is answered: a test may close the server on that count.
    response.on('finish', () => this.asked.push(line));
    const [, answer] = this.answers.find(([pattern]) => pattern.test(line)) ?? [];
    if (this.refuses(line)) response.writeHead(500).end(JSON.stringify({ message: 'device or resource busy' }));
    else response.writeHead(answer ? 200 : 404).end(JSON.stringify(answer ?? { message: `no ${line}` }));
  }

  private refuses(line: string): boolean {
    if (this.stubborn && line.startsWith('DELETE /v1.41/containers/stray')) return true;
    return this.blind && line.startsWith('GET /v1.41/containers/json?');
  }

  private get answers(): [RegExp, unknown][] {
    const state = { Running: true, Pid: this.foreign ? 1 : process.pid, ExitCode: 0, OOMKilled: false };
    const found = { Id: this.foreign ? 'c'.repeat(64) : OWN_CGROUP, Image: 'i', State: state };
    return [
      [/^GET \/version$/, { Version: '24.0.7', ApiVersion: '1.41', MinAPIVersion: '1.12' }],
      [/^GET \/_ping$/, {}],
      [/^GET \/v1.41\/images\/orrery\/container-nf:[0-9a-f]{12}\/json$/, {}],
      [/^GET \/v1.41\/images\/json\?/, []],
      [/^GET \/v1.41\/images\/json$/, [{ RepoTags: this.images, RepoDigests: [] }]],
      [/^POST \/v1.41\/containers\/create\?name=orrery-n1-trial$/, { Id: 'trial' }],
      [/^POST \/v1.41\/containers\/trial\/start$/, {}],
      [/^GET \/v1.41\/containers\/trial\/json$/, found],
      [/^GET \/v1.41\/containers\/json\?/, [{ Id: 'stray', Names: ['/stray'], Labels: LABELS }]],
      [/^DELETE \/v1.41\/containers\/(stray|trial)\?/, {}],
    ];
  }
}

/** How long Docker may be away, unless a test says otherwise. */
const ABSENCE_MS = 700;

interface Setting {
  listens?: boolean;
  program?: string;
  absence_ms?: number;
  probe?: ProbeTiming;
  sweep_pause_ms?: number;
  before?: (docker: FakeDocker) => void;
}

async function setUp(setting: Setting = {}) {
  const { listens = true, program = NAT_ONLY, absence_ms = ABSENCE_MS, probe, sweep_pause_ms, before } = setting;
  const run_dir = scratchDirectory();
  const built = join(run_dir, 'built');
  mkdirSync(built);
  const nf_image = join(built, 'container-nf.tar');
  writeFileSync(nf_image, 'a root');
  const install = (text: string) => writeFileSync(join(built, 'orrery-container-nf'), text, { mode: 0o755 });
  if (program !== NO_PROGRAM) install(program);
  const socket = join(run_dir, 's');
  const docker = new FakeDocker(socket);
  before?.(docker);
  if (listens) await docker.listen();
  const log = eventLog();
  let changes = 0;
  const programs = new Programs([], true);
  const options = { node: 'n1', run_dir, docker: socket, nf_image, programs, absence_ms, probe, sweep_pause_ms };
  const driver = new ContainerDriver(options, log.emit, () => changes++);
  onTestFinished(() => driver.close(true));
  await driver.start();
  return { driver, docker, log, install, changes: () => changes };
}

const nat = instance('p.nat.0', { nf: 'nat', driver: 'container' });
const deploy = { deploy: [nat], configure: [], destruct: [], wiring: null };
const away = { ...deploy, deploy: [], destruct: ['p.nat.0'] };
const isThere = (driver: ContainerDriver) => until('it is there', () => driver.offer.available);
const isSwept = (docker: FakeDocker) => until('no stray is left', () => docker.count(/^DELETE .*\/stray/) === 1);
const seen = (driver: ContainerDriver, id = 'p.nat.0') => driver.instances.observe().get(id);

it('offers containers once Docker responds until it has been unreachable for a while, and says why', async () => {
  const { driver, docker, log, changes } = await setUp({ listens: false });
  await until('it was looked for', () => driver.offer.detail.includes('ENOENT'));
  expect(driver.offer).toEqual({
    available: false,
    detail: expect.stringContaining('Docker does not answer'),
    programs: true,
    shell: false,
    images: [],
  });
  expect(changes()).toBe(1);
  await docker.listen();
  await isThere(driver);
  expect([driver.offer, driver.nfs]).toEqual([
    { available: true, detail: 'Docker 24.0.7', programs: true, shell: false, images: [] },
    ['nat'],
  ]);
  await isSwept(docker);
  const before = changes();
  const began_ms = Date.now();
  docker.close();
  await until('it is away', () => !driver.offer.available);
  expect(Date.now() - began_ms).toBeGreaterThanOrEqual(ABSENCE_MS - 10);
  expect(changes()).toBe(before + 1);
  expect(log.names()).toEqual(['docker.lost']);
  expect(driver.offer.detail).toContain('Docker does not answer');
});

it('offers images by the names that a server takes, however long others are', async () => {
  const short = Array.from({ length: MAX_IMAGES + 1 }, (_, i) => `a/b:${i}`);
  const { driver } = await setUp({
    before: (docker) => {
      docker.images = [`a/${'x'.repeat(300)}:1`, ...short];
    },
  });
  await until('its images are known', () => driver.offer.images!.length > 0);
  expect(driver.offer.images).toEqual(short.slice(0, MAX_IMAGES));
  expect(AgentCapabilities.shape.containers.safeParse(driver.offer).error).toBeUndefined();
});

it('offers no containers of a Docker that hangs until it answers again', async () => {
  const { driver, docker, log } = await setUp({ probe: { every_ms: 20, limit_ms: 1000 } });
  await isThere(driver);
  await isSwept(docker);
  await until('it is probed again and again', () => docker.count(/_ping/) >= 3);
  docker.hung = true;
  await until('it is away', () => !driver.offer.available);
  expect(driver.offer.detail).toContain('Docker did not answer in time');
  expect(log.names()).toEqual(['docker.lost']);
  docker.hung = false;
  await isThere(driver);
  expect(docker.count(/create/)).toBe(1);
}, 40_000);

it('reports nothing when Docker is soon back, and runs no trial container again', async () => {
  // Many times what it takes to reconnect to Docker on a busy machine.
  const absence_ms = 3000;
  const { driver, docker, log } = await setUp({ absence_ms });
  await isThere(driver);
  await isSwept(docker);
  docker.close();
  await docker.listen();
  await until('it listens again', () => docker.count(/\/events\?/) === 2);
  await until('containers that kept running are checked', () => docker.count(/containers\/json\?/) === 2);
  await new Promise((resolve) => setTimeout(resolve, absence_ms + 200));
  expect([driver.offer.available, log.names(), docker.count(/create/)]).toEqual([true, [], 1]);
});

it('waits for an unreachable Docker to start instances, and removes them without it', async () => {
  const { driver } = await setUp({ listens: false });
  await driver.realize(deploy);
  expect(seen(driver)).toMatchObject({ state: 'starting', ends: null });
  await until('it cannot', () => seen(driver)?.state === 'failed');
  expect(seen(driver)).toMatchObject({ ends: null, permanent: false });
  expect(seen(driver)?.detail).toContain('Docker does not answer: connect ENOENT');
  await expect(driver.getInstanceState('p.nat.0', 1)).rejects.toThrow('p.nat.0 does not run: Docker does not answer');
  await driver.realize(away);
  await until('it is gone', () => driver.instances.observe().size === 0);
});

it('offers no containers of a Docker whose processes it cannot reach', async () => {
  const { driver, docker } = await setUp({ before: (fake) => (fake.foreign = true) });
  const detail = 'Docker runs in another PID namespace than the agent';
  await until('it was tried', () => driver.offer.detail === detail);
  await driver.realize(deploy);
  await until('it cannot', () => seen(driver)?.state === 'failed');
  expect([driver.offer.available, seen(driver)?.detail]).toEqual([false, detail]);
  expect(docker.count(/^DELETE .*\/trial\?/)).toBeGreaterThan(0);
});

it.each([
  ['is not there', NO_PROGRAM, 'ENOENT'],
  ['fails', '#!/bin/sh\nexit 3\n', 'Command failed'],
  ['returns something else', '#!/bin/sh\necho nat\n', 'not valid JSON'],
])('offers no containers while its program %s, and retries', async (_, program, why) => {
  const { driver, install } = await setUp({ program });
  await until('it was asked', () => driver.offer.detail.includes('orrery-container-nf --nfs: '));
  expect(driver.offer).toMatchObject({ available: false, detail: expect.stringContaining(why) });
  install(NAT_ONLY);
  await isThere(driver);
  expect(driver.nfs).toEqual(['nat']);
});

it('permanently fails only the instance whose NF is not in the image', async () => {
  const { driver } = await setUp();
  await driver.realize({ ...deploy, deploy: [{ ...nat, nf: 'teapot' }] });
  await until('it is refused', () => seen(driver)?.state === 'failed');
  expect(seen(driver)).toMatchObject({ permanent: true, detail: 'no container NF teapot here; there are nat' });
});

it('removes a container of its node without a known instance', async () => {
  const { docker } = await setUp();
  await until('it is removed', () => docker.count(/^DELETE .*\/stray\?force=true&v=true/) === 1);
});

it('continues with a Docker that does not remove a container, and reports it', async () => {
  const { driver, docker, log } = await setUp({ before: (fake) => (fake.stubborn = true) });
  await until('it was tried', () => log.names().length > 0);
  expect(log.events).toMatchObject([{ event: 'container.left', message: expect.stringContaining('resource busy') }]);
  expect([driver.offer.available, docker.count(/\/events\?/)]).toEqual([true, 1]);
});

it('retries a Docker that does not list containers, and forgets none left behind in the meantime', async () => {
  const before = (fake: FakeDocker) => Object.assign(fake, { stubborn: true, blind: true });
  const { docker, log } = await setUp({ before, sweep_pause_ms: 50 });
  const isAsked = (more: number) => {
    const so_far = docker.count(/containers\/json\?/);
    return until('it is asked', () => docker.count(/containers\/json\?/) >= so_far + more);
  };
  await isAsked(2);
  expect(docker.count(/^DELETE .*\/stray/)).toBe(0);
  docker.blind = false;
  await until('it was tried', () => log.names().length > 0);
  docker.blind = true;
  await isAsked(2);
  docker.blind = false;
  const tries = docker.count(/^DELETE .*\/stray/);
  await until('it was tried again', () => docker.count(/^DELETE .*\/stray/) >= tries + 2);
  expect(log.names()).toEqual(['container.left']);
});

it('tells of an NF of the engine the limits that its container has', async () => {
  const { driver } = await setUp();
  const { HostConfig } = nfConfig({ image: 'i', node: 'n1', instance_id: 'p.nat.0' }, 'holder', '/run/x');
  const running = { control: { getState: async () => ({}) }, container: 'c', cpu_share: null };
  const observed = { state: 'running' };
  Object.assign(driver.instances, { get: () => ({ record: { nf: 'nat' }, restarts: 0, running, observed }) });
  expect((await driver.getInstanceState('p.nat.0', 1)).limits).toEqual({
    cpus: HostConfig.NanoCpus / 1e9,
    memory_bytes: HostConfig.Memory,
    processes: HostConfig.PidsLimit,
  });
});

it('holds a container to the part of a core that its chain gives it, and to a whole one otherwise', () => {
  const cpusOf = (cpu_limit?: number) =>
    nfConfig({ image: 'i', node: 'n1', instance_id: 'p.nat.0', cpu_limit }, 'holder', '/run/x').HostConfig.NanoCpus;
  expect([cpusOf(0.05), cpusOf(0.3), cpusOf(1), cpusOf()]).toEqual([5e7, 3e8, 1e9, 1e9]);
});
