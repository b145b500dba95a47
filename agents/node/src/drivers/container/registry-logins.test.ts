import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { RegistryLogins, registryOf } from './registry-logins.js';

const SECRET = 's3cr:et';
const auth = Buffer.from(`ada:${SECRET}`).toString('base64');

function configured(config: unknown, helper = ''): RegistryLogins {
  const folder = scratchDirectory();
  const file = join(folder, 'config.json');
  writeFileSync(file, typeof config === 'string' ? config : JSON.stringify(config));
  const program = join(folder, 'docker-credential-test');
  writeFileSync(program, `#!/bin/sh\n${helper}\n`);
  chmodSync(program, 0o755);
  return new RegistryLogins(file, { PATH: `${folder}:/usr/bin:/bin` });
}

it.each([
  ['nginx:1', 'docker.io'],
  ['team/filter:1', 'docker.io'],
  ['docker.io/team/filter:1', 'docker.io'],
  ['localhost/filter:1', 'localhost'],
  ['127.0.0.1:5000/team/filter:1', '127.0.0.1:5000'],
  [`registry.example/filter@sha256:${'0'.repeat(64)}`, 'registry.example'],
])('%s is of %s', (reference, registry) => {
  expect(registryOf(reference)).toBe(registry);
});

it.each([
  ['registry.example', 'registry.example'],
  ['https://registry.example/v1/', 'registry.example'],
  ['https://index.docker.io/v1/', 'docker.io'],
])('takes user and password of the key %s', async (key, registry) => {
  const logins = configured({ auths: { 'other.example': { auth: 'eDp5' }, [key]: { auth } } });
  expect(await logins.loginFor(registry)).toMatchObject({ username: 'ada', password: SECRET });
  expect(await logins.loginFor('third.example')).toBeNull();
});

it('takes a token as it is', async () => {
  const logins = configured({ auths: { 'r.example': { auth, identitytoken: 'tok' } } });
  expect(await logins.loginFor('r.example')).toEqual({ identitytoken: 'tok', serveraddress: 'r.example' });
});

it('asks the credential helper of the registry, then the store, then the file', async () => {
  const helper =
    'read server; echo "{\\"ServerURL\\":\\"$server\\",\\"Username\\":\\"of-$server\\",\\"Secret\\":\\"x\\"}"';
  const own = configured({ credHelpers: { 'r.example': 'test' }, auths: { 's.example': { auth } } }, helper);
  expect(await own.loginFor('r.example')).toMatchObject({ username: 'of-r.example', password: 'x' });
  expect(await own.loginFor('s.example')).toMatchObject({ username: 'ada' });
  const token = configured({ credsStore: 'test' }, `echo '{"Username":"<token>","Secret":"t"}'`);
  expect(await token.loginFor('r.example')).toEqual({ identitytoken: 't', serveraddress: 'r.example' });
  const unknown = configured(
    { credsStore: 'test', auths: { 'r.example': { auth } } },
    'echo credentials not found in native keychain; exit 1',
  );
  expect(await unknown.loginFor('r.example')).toMatchObject({ username: 'ada' });
});

it.each([
  [{ credsStore: 'test' }, `echo ${SECRET}; exit 3`, 'docker-credential-test failed (3)'],
  [{ credsStore: 'test' }, `echo ${SECRET}`, 'docker-credential-test gave no user and password'],
  [{ credsStore: 'none' }, '', 'docker-credential-none is not installed'],
  [{ credsStore: '../x' }, '', 'is no name of a credential helper'],
  [`{"auths": ${SECRET}`, '', 'is not JSON'],
  [{ auths: { 'r.example': { auth: 7 } } }, '', '/auths/r.example/auth'],
  [
    { auths: { 'r.example': { auth: Buffer.from(SECRET.replace(':', '')).toString('base64') } } },
    '',
    'must be USER:PASSWORD',
  ],
])('says what is wrong with %j and tells no secret', async (config, helper, words) => {
  const error = await configured(config, helper)
    .loginFor('r.example')
    .then(
      () => new Error('it was taken'),
      (failure: Error) => failure,
    );
  expect(error.message).toContain('--docker-config /');
  expect(error.message).toContain(words);
  expect(error.message).not.toContain('s3cr');
});

it('needs no file where none is named, and says that one is missing', async () => {
  expect(await new RegistryLogins(null).loginFor('r.example')).toBeNull();
  await expect(new RegistryLogins('/none/config.json').loginFor('r.example')).rejects.toThrow('cannot be read: ENOENT');
});

it('says what to do about a registry that refuses', async () => {
  const login = { username: 'ada', password: SECRET, serveraddress: 'r.example' };
  const logins = configured({});
  expect(new RegistryLogins(null).advice('r.example', null)).toContain('--docker-config');
  expect(logins.advice('r.example', null)).toContain('has no password of r.example: run "docker login r.example"');
  expect(logins.advice('r.example', login)).toContain('is not accepted');
  expect(logins.advice('r.example', login)).not.toContain(SECRET);
});
