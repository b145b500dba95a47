import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LegacyProgram } from '@orrery/contract';
import { expect, it, onTestFinished } from 'vitest';
import { scratchDirectory, until } from '../../testing/scratch.js';
import type { NetworkNamespace } from '../legacy/network-namespace.js';
import { Programs } from '../legacy/programs.js';
import { stemOf } from '../veth-names.js';
import { ContainerHousing } from './container-housing.js';
import type { DockerHost } from './docker-host.js';
import type { UserImages } from './user-images.js';

const ID = 'web.proxy.0';
/** Docker's ID of a container is in the control groups of its processes. */
const OWN_CGROUP = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n')[0]!;
const program = LegacyProgram.parse({ forwarding: 'route', command: ['squid', '-N'], preserves: [] });
const housed = { record: { instance_id: ID, nf: 'mine', config: {}, metadata: {}, digest: 'd', program }, program };
const namespace = {} as NetworkNamespace;

/** A Docker whose container is a process of this test. */
function setUp(command = ['sleep', '600'], lastWords = 'last words', endsAtOnce = false) {
  const folder = scratchDirectory();
  const asked: string[] = [];
  let child: ReturnType<typeof spawn> | null = null;
  const isRunning = () => child !== null && child.exitCode === null && child.signalCode === null;
  const docker = {
    remove: async (name: string) => void asked.push(`remove ${name}`),
    create: async (name: string, { HostConfig }: { HostConfig: { NetworkMode: string } }) => {
      asked.push(`create ${name} in ${HostConfig.NetworkMode}`);
      return name;
    },
    start: async (name: string) => {
      asked.push(`start ${name}`);
      child = spawn(command[0]!, command.slice(1), { stdio: 'ignore' });
      await once(child, endsAtOnce ? 'exit' : 'spawn');
    },
    inspect: async () => ({
      ...{ id: OWN_CGROUP, image: 'i', out_of_memory: false },
      ...{ running: isRunning(), pid: child?.pid ?? 0, exit_code: child?.exitCode ?? 137 },
    }),
    logs: async () => [lastWords],
  };
  onTestFinished(() => void child?.kill('SIGKILL'));
  const host = { docker, looked: Promise.resolve(), provideImage: async () => 'i' } as unknown as DockerHost;
  const make = () =>
    new ContainerHousing(host, new Programs([], true), {} as UserImages, 'n1', folder, () => undefined);
  return { housing: make(), make, asked, folder, end: () => child?.kill('SIGKILL') };
}

it('runs a program beside its holder, and says how it ended', async () => {
  const { housing, asked, end } = setUp();
  const name = `orrery-n1-${stemOf(ID)}`;
  const started = await housing.spawn(housed, namespace, ['squid', '-N']);
  expect(asked).toEqual([`remove ${name}`, `create ${name} in container:${name}-net`, `start ${name}`]);
  expect(started.alive).toBe(true);
  end();
  await started.ended;
  expect(await housing.explain(ID)).toBe('the container ended: exit code 137: last words');
});

it('refuses a program that ends at once, with its last words', async () => {
  const { housing } = setUp(['sh', '-c', 'exit 3'], 'last words', true);
  await expect(housing.spawn(housed, namespace, ['squid', '-N'])).rejects.toThrow(
    'squid ended at once: the container ended: exit code 3: last words',
  );
});

it('leaves room for the reason, whatever a program has said last', async () => {
  const { housing } = setUp(['sh', '-c', 'exit 3'], `\u001b[2J${'x'.repeat(16_000)}`, true);
  await expect(housing.spawn(housed, namespace, ['squid', '-N'])).rejects.toThrow(
    /^squid ended at once: the container ended: exit code 3: \[2Jx{1,300}$/,
  );
});

it('the next agent finds a program without Docker', async () => {
  const { housing, make, end } = setUp();
  const started = await housing.spawn(housed, namespace, ['squid']);
  started.release();
  const found = make().running(ID);
  expect(found?.pid).toBe(started.pid);
  end();
  await found!.ended;
  await until('it is gone', () => make().running(ID) === null);
});

it('keeps the files that a container sees apart from those of the agent', () => {
  const { housing, folder } = setUp();
  expect(housing.folders(ID, null)).toEqual({
    files: join(folder, stemOf(ID), 'program'),
    seen: '/instance',
    nf_dir: null,
  });
  expect(housing.folders(ID, '/opt/http-proxy').nf_dir).toBe('/nf');
  expect([housing.has(housed, 'sh'), housing.has(housed, '/opt/no/such'), housing.has(housed, '/root/x')]).toEqual([
    true,
    false,
    false,
  ]);
});
