import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { TwindClient } from './twind-client.js';

async function connected(): Promise<TwindClient> {
  const directory = await mkdtemp(join(tmpdir(), 'orrery-twind-'));
  const path = join(directory, 'twind.sock');
  const twind = createServer((_, reply) => {
    reply.write('{"n":1}\n', () => reply.destroy());
  });
  await new Promise<void>((resolve) => twind.listen(path, resolve));
  const client = new TwindClient(path);
  onTestFinished(async () => {
    await client.close();
    await new Promise((resolve) => twind.close(resolve));
    await rm(directory, { recursive: true });
  });
  return client;
}

async function read(client: TwindClient, signal: AbortSignal): Promise<unknown[]> {
  const lines: unknown[] = [];
  for await (const line of client.lines('/watch', signal)) lines.push(line);
  return lines;
}

it('says in plain words that twind ended in the middle of its reports', async () => {
  const client = await connected();
  await expect(read(client, new AbortController().signal)).rejects.toThrow('the connection to twind broke');
});

it('throws what its caller aborted it with', async () => {
  const client = await connected();
  await expect(read(client, AbortSignal.abort(new Error('no longer needed')))).rejects.toThrow('no longer needed');
});
