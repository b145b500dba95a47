import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { DockerClient } from './docker-client.js';
import { DockerAway, DockerRefusal } from './docker-http.js';
import { ImageStore } from './image-store.js';
import type { RegistryLogin } from './registry-logins.js';
import { RegistryLogins } from './registry-logins.js';

const LIMITS = { all_ms: 10_000, silence_ms: 10_000 };

/** A Docker with one image, or none, until a pull ends well. */
function setUp({
  there = false,
  limits = LIMITS,
  archive = null as string | null,
  logins = new RegistryLogins(null),
} = {}) {
  const asked: string[] = [];
  const stream = new PassThrough();
  let has = there;
  stream.on('end', () => {
    has = true;
  });
  const docker = {
    findImage: async () => (has ? { id: 'sha256:1', has_check: false, has_command: true } : null),
    loadImages: async (file: string) => {
      asked.push(`load ${file}`);
      has = true;
    },
    pull: async (name: string, version: string, login: RegistryLogin | null) => {
      asked.push(`${name} ${version}${login ? ` as ${login.username}` : ''}`);
      return stream;
    },
  } as unknown as DockerClient;
  const abort = new AbortController();
  const told: string[] = [];
  const provide = (pull: 'always' | 'if-missing' | 'never', reference = 'r.example:5000/a/b:1') =>
    new ImageStore(docker, 'n1', { fileOf: () => archive }, logins, limits).provide(
      { reference, pull },
      { instance_id: 'c.n.0', progress: (text) => void told.push(text), signal: abort.signal },
    );
  return { asked, stream, abort, told, provide };
}

const line = (told: object) => `${JSON.stringify(told)}\n`;

it('asks a registry as the policy says', async () => {
  const never = setUp({ there: true });
  await never.provide('never');
  const missing = setUp({ there: true });
  await missing.provide('if-missing');
  const always = setUp({ there: true });
  always.stream.end();
  await always.provide('always');
  expect([never.asked, missing.asked, always.asked]).toEqual([[], [], ['r.example:5000/a/b 1']]);
  await expect(setUp().provide('never')).rejects.toThrow(
    '/image/reference: Docker on n1 does not have r.example:5000/a/b:1, and /image/pull is "never"',
  );
});

it('loads what came with the agent before a registry is asked', async () => {
  const { asked, provide } = setUp({ archive: '/images/nf.tar' });
  expect(await provide('never')).toMatchObject({ id: 'sha256:1' });
  expect(asked).toEqual(['load /images/nf.tar']);
});

it('tells how far a pull is, and asks for the digest where one is named', async () => {
  const { stream, told, asked, provide } = setUp();
  const digest = `sha256:${'0'.repeat(64)}`;
  const provided = provide('if-missing', `a/b:1@${digest}`);
  stream.write(line({ status: 'Downloading', id: 'x', progressDetail: { current: 2 ** 20, total: 2 ** 21 } }));
  stream.end();
  expect(await provided).toMatchObject({ id: 'sha256:1' });
  expect(asked).toEqual([`a/b ${digest}`]);
  expect(told.at(-1)).toContain('0 of 1 layers, 1 of 2 MiB');
});

it.each([
  ['pull access denied for a/b', 'is refused by its registry; if it is private, run "docker login', false],
  ["denied: repository does not exist or may require 'docker login'", 'is refused by its registry', false],
  ['manifest unknown: manifest unknown', 'is not in its registry', false],
  ['Get "https://r.example/v2/": dial tcp: lookup r.example: no such host', 'registry cannot be reached', false],
  ['dial tcp: lookup r.example: Temporary failure in name resolution', 'registry cannot be reached', false],
  ['failed to register layer: write /x: no space left on device', 'no space is left on the disk of Docker', false],
  ['no matching manifest for linux/arm64 in the manifest list entries', 'is not for this processor', true],
])('says in plain words: %s', async (error, words, permanent) => {
  const { stream, provide } = setUp();
  const provided = provide('if-missing').catch((failure) => failure);
  stream.write(line({ error }));
  expect(await provided).toMatchObject({ permanent, message: expect.stringContaining(words) });
});

it('signs in at the registry of the image only, and keeps the password to itself', async () => {
  const file = join(scratchDirectory(), 'config.json');
  const auth = Buffer.from('ada:secret').toString('base64');
  writeFileSync(file, JSON.stringify({ auths: { 'r.example:5000': { auth } } }));
  const logins = new RegistryLogins(file);
  const known = setUp({ logins });
  const refused = known.provide('always').catch((failure) => failure);
  known.stream.end(line({ error: 'unauthorized: authentication required' }));
  const { message } = await refused;
  expect(message).toContain(`the password of r.example:5000 in ${file} is not accepted`);
  expect(message).not.toMatch(/secret|YWRhOnNlY3JldA/);
  const other = setUp({ logins });
  other.stream.end();
  await other.provide('always', 's.example/a/b:1');
  expect([...known.asked, ...other.asked]).toEqual(['r.example:5000/a/b 1 as ada', 's.example/a/b 1']);
});

it('gives a pull up that is not wanted any more, says nothing for too long, or takes too long', async () => {
  const unwanted = setUp();
  const given = unwanted.provide('if-missing').catch((failure) => failure);
  unwanted.abort.abort();
  expect(String(await given)).toContain('not wanted any more');
  expect(unwanted.stream.destroyed).toBe(true);
  const silent = setUp({ limits: { all_ms: 10_000, silence_ms: 20 } });
  await expect(silent.provide('if-missing')).rejects.toThrow('no news for 0.02 s');
  expect(silent.stream.destroyed).toBe(true);
  await expect(setUp({ limits: { all_ms: 20, silence_ms: 10_000 } }).provide('if-missing')).rejects.toThrow(
    'not done in 0.02 s',
  );
});

it('gives a pull up while Docker still asks the registry, and Docker hears of it', async () => {
  const socket = join(scratchDirectory(), 's');
  const docker = createServer();
  await new Promise<void>((resolve) => docker.listen(socket, resolve));
  onTestFinished(() => {
    docker.closeAllConnections();
    docker.close();
  });
  const abort = new AbortController();
  const asked = once(docker, 'request');
  const given = new ImageStore(new DockerClient(socket), 'n1')
    .provide(
      { reference: 'a/b:1', pull: 'always' },
      { instance_id: 'c.n.0', progress: () => undefined, signal: abort.signal },
    )
    .catch((failure) => failure);
  const [, response] = await asked;
  const closed = once(response, 'close');
  abort.abort();
  expect((await given).message).toContain('the pull was given up: it is not wanted any more');
  await closed;
});

it('tells whether Docker is away or has refused', async () => {
  const failing = (error: Error) =>
    new ImageStore({ findImage: () => Promise.reject(error) } as unknown as DockerClient, 'n1')
      .provide(
        { reference: 'a:1', pull: 'never' },
        { instance_id: 'i', progress: () => {}, signal: new AbortController().signal },
      )
      .catch((failure) => failure.message);
  expect(await failing(new DockerAway('Docker does not answer: connect ENOENT'))).toContain('does not answer');
  expect(await failing(new DockerRefusal('Docker: something new', 500))).toBe('image a:1: Docker: something new');
});
