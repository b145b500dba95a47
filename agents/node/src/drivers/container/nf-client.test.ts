import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { instance } from '../../testing/specs.js';
import { recordOf } from '../hosted-instance.js';
import { NfClient } from './nf-client.js';

/** An NF that answers a request when told to. */
async function slowNf() {
  const path = join(scratchDirectory(), 's');
  let client: Socket | null = null;
  let heard: () => void = () => undefined;
  const request = new Promise<void>((resolve) => {
    heard = resolve;
  });
  const server = createServer((socket) => {
    client = socket;
    socket.on('data', () => heard());
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => {
    client?.destroy();
    server.close();
  });
  return { path, request, answer: () => client!.write('{"id":1,"result":{}}\n') };
}

it.each([
  [19_000, 'waits', true],
  [20_001, 'no longer waits', false],
])('after %i ms %s for an NF that builds a large rule set', async (elapsed_ms, _, waits) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const nf = await slowNf();
  const failed = vi.fn();
  const client = await NfClient.connect(nf.path, failed);
  const configured = client.configure(recordOf(instance('p.ids.0'), 'd')).then(
    () => true,
    () => false,
  );
  await nf.request;
  vi.advanceTimersByTime(elapsed_ms);
  if (waits) nf.answer();
  expect(await configured).toBe(waits);
  expect(failed).toHaveBeenCalledTimes(waits ? 0 : 1);
  client.close();
});
