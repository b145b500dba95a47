import { expect, it } from 'vitest';
import { CAPABILITIES } from '../legacy/namespace-commands.js';
import { programConfig, programHolderConfig } from './container-config.js';
import { isSeen, mountsOf } from './program-view.js';

const of = { image: 'orrery/container-nf:1', node: 'n1', instance_id: 'web.proxy.0' };
const view = { files: '/run/dir/program', nf_directory: '/opt/http-proxy', packages: ['squid', 'absent'] };
const THERE = [
  '/usr',
  '/bin',
  '/lib',
  '/etc/passwd',
  '/etc/squid',
  '/etc/ssl/certs',
  '/etc/shadow',
  '/etc/ssl/private',
];
const resolve = (path: string) =>
  THERE.includes(path) ? path.replace(/^\/(bin|lib)$/, (linked) => `/usr${linked}`) : null;

it('shows a container the programs of the host and what they need to be told, read-only, and no secrets', () => {
  const mounts = mountsOf(view, resolve);
  expect(mounts.map(({ Source, Target, ReadOnly }) => [Source, Target, ReadOnly])).toEqual([
    ['/usr', '/usr', true],
    ['/usr/bin', '/bin', true],
    ['/usr/lib', '/lib', true],
    ['/etc/passwd', '/etc/passwd', true],
    ['/etc/ssl/certs', '/etc/ssl/certs', true],
    ['/etc/squid', '/etc/squid', true],
    ['/opt/http-proxy', '/nf', true],
    ['/run/dir/program', '/instance', false],
  ]);
  for (const mount of mounts) expect(mount).toMatchObject({ Type: 'bind', BindOptions: { NonRecursive: true } });
});

it('shows the program of a user no settings of packages', () => {
  const targets = mountsOf({ ...view, nf_directory: null }, resolve).map(({ Target }) => Target);
  expect(targets).not.toContain('/etc/squid');
  expect(targets).not.toContain('/nf');
});

it('asks Docker for the program with rights one by one, limits, and the network of its holder', () => {
  const { HostConfig, ...config } = programConfig(
    of,
    'orrery-n1-x-net',
    view,
    ['squid', '-N', '-f', '/instance/c'],
    4096,
  );
  expect(config).toMatchObject({
    Image: of.image,
    Entrypoint: ['squid'],
    Cmd: ['-N', '-f', '/instance/c'],
    WorkingDir: '/instance',
    Labels: { 'orrery.node': 'n1', 'orrery.instance': 'web.proxy.0' },
  });
  expect(config.Env).toContain('PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin');
  expect(HostConfig).toMatchObject({
    CapDrop: ['ALL'],
    CapAdd: CAPABILITIES.map((name) => name.toUpperCase()),
    NetworkMode: 'container:orrery-n1-x-net',
    ReadonlyRootfs: true,
    SecurityOpt: ['no-new-privileges'],
    Memory: 512 * 1024 * 1024,
    MemorySwap: 512 * 1024 * 1024,
    NanoCpus: 1e9,
    PidsLimit: 256,
    Ulimits: [{ Name: 'fsize', Soft: 4096, Hard: 4096 }],
    RestartPolicy: { Name: 'no' },
  });
  expect(HostConfig.Tmpfs).toMatchObject({ '/tmp': expect.stringContaining('size=') });
  for (const never of ['Privileged', 'Devices', 'PidMode', 'CgroupnsMode', 'Binds'])
    expect(HostConfig).not.toHaveProperty(never);
});

it('gives the holder the same files and limits, and no rights or network', () => {
  const { HostConfig, Cmd, User } = programHolderConfig(of, view);
  expect([Cmd, User]).toEqual([['hold'], '65534:65534']);
  expect(HostConfig).toMatchObject({ CapDrop: ['ALL'], NetworkMode: 'none', ReadonlyRootfs: true });
  expect(HostConfig).toMatchObject({ Memory: 512 * 1024 * 1024, NanoCpus: 1e9, PidsLimit: 256 });
  expect(HostConfig).not.toHaveProperty('CapAdd');
  expect(HostConfig.Mounts).toEqual(programConfig(of, 'h', view, ['squid'], 4096).HostConfig.Mounts);
});

it.each([
  ['squid', true],
  ['/usr/sbin/squid', true],
  ['/bin/sh', true],
  ['/nf/start', true],
  ['/opt/mine/run', false],
  ['/usrlocal/x', false],
])('a container sees %s: %s', (program, seen) => expect(isSeen(program)).toBe(seen));
