import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { scratchDirectory, until } from '../../testing/scratch.js';
import { type ContainerDeath, DockerClient } from './docker-client.js';
import { callDocker, DockerAway, DockerRefusal } from './docker-http.js';
import { NfImage } from './nf-image.js';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Answers as Docker might, to test how the client handles it; that Docker answers like this is tested in the lab. */
async function serve(answer: Answer) {
  const socket = join(scratchDirectory(), 's');
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { client: new DockerClient(socket), socket, asked, server };
}

const says =
  (status: number, body: unknown): Answer =>
  (_, response) => {
    response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
  };

it("reports Docker's own message", async () => {
  const { client } = await serve(says(409, { message: 'Conflict. The name is already in use.\n' }));
  const refusal = await client.create('a', {}).catch((error) => error);
  expect(refusal).toBeInstanceOf(DockerRefusal);
  expect(refusal).toMatchObject({ message: 'Docker: Conflict. The name is already in use.', status: 409 });
  const { client: odd } = await serve(says(502, 'bad gateway'));
  await expect(odd.start('a')).rejects.toThrow('Docker: bad gateway');
});

it('treats what does not exist as removed', async () => {
  const { client } = await serve(says(404, { message: 'No such container: a' }));
  expect(await client.inspect('a')).toBeNull();
  expect(await client.hasImage('a:b')).toBe(false);
  await client.remove('a');
  await expect(client.start('a')).rejects.toThrow('No such container');
});

it('reports that nobody listens', async () => {
  const client = new DockerClient(join(scratchDirectory(), 'none'));
  const away = await client.ping().catch((error) => error);
  expect(away).toBeInstanceOf(DockerAway);
  expect(away.message).toContain('Docker does not answer: connect ENOENT');
});

it.each<[string, Answer]>([
  ['says nothing', () => undefined],
  ['stops in the middle', (_, response) => response.write('{')],
])('times out on a Docker that %s', async (_, answer) => {
  const { socket } = await serve(answer);
  const call = callDocker(socket, { to: 'start a container', method: 'GET', path: '/x', limit_ms: 50 });
  const away = await call.catch((error) => error);
  expect(away).toBeInstanceOf(DockerAway);
  expect(away.message).toBe('Docker did not answer in time (it was to start a container)');
});

it('rejects an answer without an end', async () => {
  const { socket } = await serve((_, response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    };
    response.on('drain', more);
    more();
  });
  await expect(callDocker(socket, { to: 'answer', method: 'GET', path: '/x' })).rejects.toThrow('longer than');
});

it.each([
  ['1.41', '1.12', 'v1.41'],
  ['1.52', '1.44', 'v1.44'],
])('speaks to a Docker of API %s down to %s in %s', async (ApiVersion, MinAPIVersion, spoken) => {
  const { client, asked } = await serve((request, response) => {
    says(200, request.url === '/version' ? { ApiVersion, MinAPIVersion } : [])(request, response);
  });
  await client.ping();
  await client.list('a=b');
  expect(asked.at(-1)).toContain(`GET /${spoken}/containers/json?all=true&filters=`);
});

it('refuses a Docker that is too old', async () => {
  const { client } = await serve(says(200, { ApiVersion: '1.39', MinAPIVersion: '1.12' }));
  await expect(client.ping()).rejects.toThrow('its API 1.39 is older than 1.41');
});

it('detects an import that fails after a good start', async () => {
  const { client } = await serve((request, response) => {
    request.resume().on('end', () => response.end('{"status":"Importing"}\r\n{"error":"no space left on device"}\r\n'));
  });
  await expect(client.importImage('r', 't', import.meta.filename, [])).rejects.toThrow('no space left on device');
});

it('names a file that cannot be imported', async () => {
  const { client } = await serve((request) => request.resume());
  await expect(client.importImage('r', 't', '/nowhere.tar', [])).rejects.toThrow('/nowhere.tar');
});

it('joins pieces of output into lines', async () => {
  const piece = (text: string) => {
    const head = Buffer.alloc(8);
    head[0] = 2;
    head.writeUInt32BE(Buffer.byteLength(text), 4);
    return Buffer.concat([head, Buffer.from(text)]);
  };
  const { client } = await serve((_, response) => {
    response.end(Buffer.concat([piece('one\ntw'), piece('o\n')]));
  });
  expect(await client.logs('a', 2)).toEqual(['one', 'two']);
});

it('reports deaths as they happen, whole, and the end of the stream', async () => {
  let tell: (text: string) => void = () => undefined;
  const { client, server } = await serve((_, response) => {
    response.flushHeaders();
    tell = (text) => response.write(text);
  });
  const deaths: ContainerDeath[] = [];
  const stream = await client.watchDeaths('orrery.node=n1', (death) => deaths.push(death));
  const closed = new Promise((resolve) => stream.once('close', resolve));
  const line = JSON.stringify({ id: 'c1', Actor: { Attributes: { 'orrery.instance': 'a.b.0' } } });
  tell(line.slice(0, 9));
  tell(`${line.slice(9)}\n${line.replace('c1', 'c2')}\n`);
  await until('both are reported', () => deaths.length === 2);
  expect(deaths.map(({ id, labels }) => [id, labels['orrery.instance']])).toEqual([
    ['c1', 'a.b.0'],
    ['c2', 'a.b.0'],
  ]);
  server.closeAllConnections();
  await closed;
});

it('closes a stream of deaths that it cannot parse', async () => {
  const { client } = await serve((_, response) => {
    response.write('{"status":"die"}\n');
  });
  const stream = await client.watchDeaths('a', () => undefined);
  await new Promise((resolve) => stream.once('close', resolve));
});

const openCopies = (path: string) =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === path;
    } catch {
      return false;
    }
  }).length;

it('closes the file of an import that failed', async () => {
  const file = join(scratchDirectory(), 'a.tar');
  writeFileSync(file, Buffer.alloc(8 * 1024 * 1024));
  const { client } = await serve((request) => request.socket.destroy());
  for (let i = 0; i < 3; i++) await expect(client.importImage('r', 't', file, [])).rejects.toBeInstanceOf(DockerAway);
  await until('it is closed', () => openCopies(file) === 0);
});

it('removes its images except the required one and those in use', async () => {
  const images = [
    { Id: 'sha256:a', RepoTags: ['orrery/container-nf:old', 'orrery/container-nf:new'] },
    { Id: 'sha256:b', RepoTags: ['<none>:<none>'] },
    { Id: 'sha256:c', RepoTags: null },
    { Id: 'sha256:d', RepoTags: ['orrery/container-nf:busy'] },
  ];
  const { client, asked } = await serve((request, response) => {
    const { method, url } = request;
    if (method === 'GET') says(200, images)(request, response);
    else says(url!.endsWith('busy') ? 409 : 200, [])(request, response);
  });
  await new NfImage('container-nf.tar').removeOthers(client, 'orrery/container-nf:new');
  const queries = asked.filter((line) => line.startsWith('GET')).map((line) => decodeURIComponent(line.split('=')[1]!));
  expect(queries).toEqual(['{"reference":["orrery/container-nf"]}', '{"label":["orrery.image=container-nf"]}']);
  expect(asked.filter((line) => line.startsWith('DELETE')).map((line) => line.split('/images/')[1])).toEqual([
    'orrery/container-nf:old',
    'sha256:b',
    'sha256:c',
    'orrery/container-nf:busy',
  ]);
});
