import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { configOf } from '../packaging/compose/archive-image.mjs';
import { images } from './images.mjs';
import { ROOT } from './setup/paths.mjs';

const read = (path) => readFileSync(resolve(ROOT, path), 'utf8');
const { services, volumes, networks } = parse(read('docker-compose.yml'), { merge: true });
const dockerfile = read('packaging/compose/Dockerfile');

/** Rights of the twin's container. One more is a decision: docs/decisions/0047-compose.md. */
const RIGHTS_OF_THE_TWIN = [
  ...['NET_ADMIN', 'NET_RAW', 'SYS_ADMIN', 'SYS_NICE', 'IPC_LOCK', 'SYS_PTRACE', 'MKNOD', 'SYS_CHROOT', 'SETPCAP'],
  ...['SETUID', 'SETGID', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'KILL', 'NET_BIND_SERVICE'],
];
/** A tag with a whole version or a date, so that it is not moved to other contents every month. */
const PINNED = /:(\d+\.\d+\.\d+|[a-z]+-\d{8})-/;
/** Its project publishes no versions, and it is used with a profile only. */
const MOVING = ['p4lang/behavioral-model:stable'];
/** It ends once it has done its work. */
const ENDS = ['bmv2'];

/** `path` may have a `*` in its last part. */
function isThere(path) {
  if (!path.includes('*')) return existsSync(resolve(ROOT, path));
  const [before, after] = basename(path).split('*');
  return readdirSync(resolve(ROOT, dirname(path))).some((name) => name.startsWith(before) && name.endsWith(after));
}

const each = (check) => {
  for (const [name, service] of Object.entries(services)) check(service, name);
};

test('the whole demo and nothing else is described', () => {
  assert.deepEqual(Object.keys(services), ['store', 'server', 'twin', 'demo', 'bmv2']);
  assert.deepEqual(
    Object.keys(services).filter((name) => services[name].profiles),
    ['bmv2'],
  );
});

test('no service is privileged, and rights are listed one by one', () => {
  each((service, name) => {
    assert.equal(service.privileged, undefined, name);
    assert.deepEqual(service.cap_drop, ['ALL'], name);
    assert.deepEqual(service.cap_add ?? [], name === 'twin' ? RIGHTS_OF_THE_TWIN : [], name);
    assert.deepEqual(service.devices ?? [], name === 'twin' ? ['/dev/net/tun'] : [], name);
    for (const shared of ['pid', 'ipc', 'uts', 'userns_mode'])
      assert.equal(service[shared], undefined, `${name}: ${shared}`);
    assert.ok(service.security_opt.includes('no-new-privileges:true'), name);
    assert.equal(service.security_opt.includes('seccomp:unconfined'), false, name);
    if (name !== 'twin') assert.equal(service.read_only, true, name);
  });
});

test('nothing of the host is mounted, and only declared volumes and networks are used', () => {
  each((service, name) => {
    for (const mount of service.volumes ?? []) assert.ok(mount.split(':')[0] in volumes, `${name}: ${mount}`);
    for (const network of service.networks ?? []) assert.ok(network in networks, `${name}: ${network}`);
    if (service.network_mode) assert.equal(service.network_mode, 'none', name);
  });
});

test('the console alone is published, for this machine only, and the store has a network with the server only', () => {
  each(({ ports = [] }, name) => {
    assert.equal(ports.length, name === 'server' ? 1 : 0, name);
    for (const port of ports) assert.match(port, /^127\.0\.0\.1:/, name);
  });
  assert.deepEqual(
    Object.keys(services).filter((name) => services[name].networks?.includes('store')),
    ['store', 'server'],
  );
  assert.equal(networks.store.internal, true);
});

test('what each service may use and how much it logs is bounded', () => {
  each((service, name) => {
    assert.match(String(service.mem_limit), /^\d+[mg]$/, `${name}: mem_limit`);
    assert.ok(service.pids_limit > 0, `${name}: pids_limit`);
    if (!ENDS.includes(name)) assert.ok(service.logging.options['max-size'], `${name}: logging`);
  });
});

test('health tells who is ready, and who needs it waits for it', () => {
  each(({ healthcheck, depends_on: needs = {} }, name) => {
    // The demo waits by itself.
    if (name === 'demo') assert.deepEqual(needs, ['server', 'twin']);
    if (!ENDS.includes(name))
      for (const setting of ['test', 'interval', 'timeout', 'retries'])
        assert.ok(healthcheck[setting], `${name}: ${setting}`);
    for (const [needed, { condition }] of Object.entries(name === 'demo' ? {} : needs))
      assert.equal(
        condition,
        ENDS.includes(needed) ? 'service_completed_successfully' : 'service_healthy',
        `${name} needs ${needed}`,
      );
  });
});

test('images that are not built here, and the bases of those that are, are pinned', () => {
  const bases = [...dockerfile.matchAll(/^ARG \w+=(\S+)$/gm)].map(([, image]) => image);
  assert.equal(bases.length, 3);
  const fetched = Object.values(services).flatMap(({ build, image }) => (build ? [] : [image]));
  const built = Object.values(services).flatMap(({ build, image }) => (build ? [image] : []));
  for (const image of [...bases, ...fetched.filter((image) => !built.includes(image))])
    assert.ok(PINNED.test(image) || MOVING.includes(image), image);
  const stages = [...dockerfile.matchAll(/^FROM \S+ AS (\S+)$/gm)].map(([, stage]) => stage);
  for (const [, from] of dockerfile.matchAll(/^FROM (\S+)/gm))
    assert.ok(/^\$\{(DEBIAN|NODE|BMV2)\}$/.test(from) || stages.includes(from), from);
  each(({ build }, name) => build && assert.ok(stages.includes(build.target), name));
});

test('the images are made of files and packages that there are', () => {
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths]) => paths.split(' '));
  assert.ok(copied.length > 20);
  for (const path of copied) assert.ok(isThere(path), path);
  const groups = read('scripts/debian-packages.txt')
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim().split(/\s+/)[1]);
  const asked = [...dockerfile.matchAll(/RUN packaging\/compose\/install-packages ([a-z ]+)/g)].flatMap(([, names]) =>
    names.trim().split(' '),
  );
  assert.deepEqual([...new Set(asked)].sort(), ['build', 'libs', 'twin']);
  for (const group of asked) assert.ok(groups.includes(group), group);
  assert.match(read('.dockerignore'), /^\*$/m);
});

test('the twin has the images of the catalogue, made as their own Dockerfiles say', () => {
  const stages = new Map(
    dockerfile.split(/^FROM \S+ AS /m).map((stage) => [/^\S+/.exec(stage)?.[0], stage.replace(/^\S+\n/, '')]),
  );
  const steps = (text) => text.split('\n').filter((line) => /^(RUN|COPY| && )/.test(line));
  const packed = /for nf in (.*); do node packaging\/compose\/archive-image/.exec(stages.get('images'))[1].split(' ');
  assert.deepEqual(
    packed,
    images().map(({ nf }) => nf),
  );
  for (const nf of packed) {
    const own = read(`agents/node/container-nfs/${nf}/Dockerfile`);
    const fromHere = own.replace(/(?<=^COPY .*)(?<= )(?=\S+ )/gm, 'agents/node/');
    assert.deepEqual(steps(stages.get(nf)), steps(fromHere), nf);
    const { Entrypoint: entrypoint, Healthcheck: check } = configOf(own);
    assert.deepEqual([entrypoint[0], check.Test[0], check.Interval], ['/bin/sh', 'CMD', 1e9], nf);
  }
  assert.match(stages.get('twin'), /^COPY --from=images \/images agents\/build\/images$/m);
});

test('without Docker, the test of all this says so and ends with 2', () => {
  const env = { PATH: '/nonexistent', HOME: tmpdir() };
  const { status, stderr } = spawnSync(process.execPath, [resolve(ROOT, 'scripts/compose.mjs')], {
    env,
    encoding: 'utf8',
  });
  assert.deepEqual(
    [status, stderr.trim()],
    [2, 'npm run test:compose cannot run here. There is no Docker here: the command `docker` cannot be run.'],
  );
});

test('a program is gathered with its libraries, and runs with its own loader', () => {
  const folder = mkdtempSync(join(tmpdir(), 'orrery-gather-'));
  try {
    execFileSync(resolve(ROOT, 'packaging/compose/gather-program'), ['tar', folder]);
    const said = execFileSync(join(folder, 'bin/tar'), ['--version'], { encoding: 'utf8', env: { LC_ALL: 'C' } });
    assert.match(said, /^tar \(GNU tar\)/);
    assert.match(readFileSync(join(folder, 'bin/tar'), 'utf8'), /ld-.* --library-path .*\/lib .*\/libexec\/tar/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a demo that fails tells what the machine lacks, once its agents have tried their Docker', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'orrery-demo-'));
  const containers = { title: 'Container NFs', available: false, fallback: 'NFs run in the engine' };
  const details = ['Docker has not been probed yet', 'there is no Docker'];
  const answers = {
    'GET /healthz': () => ({}),
    'POST /api/v1/sessions': () => ({ token: 't' }),
    'GET /api/v1/infrastructure': () => ({ servers: [{}] }),
    'GET /api/v1/capabilities': () => ({
      items: [{ ...containers, detail: details.length > 1 ? details.shift() : details[0] }],
    }),
  };
  const server = createServer(({ method, url }, response) => {
    const answer = answers[`${method} ${url}`];
    response.writeHead(answer ? 200 : 500, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ? answer() : { detail: 'this is what fails' }));
  });
  try {
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    writeFileSync(join(folder, 'secret'), 's');
    const env = {
      ...process.env,
      ORRERY_URL: `http://127.0.0.1:${server.address().port}`,
      ORRERY_SECRET_FILE: join(folder, 'secret'),
      ORRERY_TWIN: 'off',
    };
    const demo = execFile(process.execPath, [resolve(ROOT, 'packaging/compose/demo.mjs')], { env });
    let said = '';
    for (const stream of [demo.stdout, demo.stderr]) stream.on('data', (text) => (said += text));
    const [code] = await once(demo, 'close');
    assert.notEqual(code, 0);
    assert.match(said, /Container NFs: there is no Docker; instead: NFs run in the engine/);
    assert.match(said, /this is what fails/);
    assert.doesNotMatch(said, /probed yet/);
  } finally {
    server.close();
    rmSync(folder, { recursive: true });
  }
});

test('no key or secret gets into an image', () => {
  assert.doesNotMatch(dockerfile, /images\.key|ENV .*(SECRET|TOKEN|PASSWORD)/);
});
