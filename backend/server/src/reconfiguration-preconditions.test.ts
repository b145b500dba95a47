import type { RouteName } from '@orrery/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BoardBench } from './testing/board-bench.js';
import type { CallOptions } from './testing/client.js';

let bench: BoardBench;

beforeAll(async () => {
  bench = await BoardBench.start();
});
afterAll(() => bench.stop());

interface Resource {
  readonly params: Record<string, string | number>;
  readonly routes: { readonly get: RouteName; readonly put: RouteName; readonly remove: RouteName };
  readonly body: object;
}

const SLOT = { id: 'board-1', slot: 0 };
const resources: [string, () => Promise<Resource>][] = [
  [
    'a reconfiguration policy',
    async () => {
      const body = { title: 'p', nf: bench.alpha, threshold: { metric: 'pps', up: 400, down: 100 } };
      const { id } = await bench.api.call('createReconfigurationPolicy', { body });
      const routes = {
        get: 'getReconfigurationPolicy',
        put: 'putReconfigurationPolicy',
        remove: 'deleteReconfigurationPolicy',
      } as const;
      return { params: { id }, routes, body };
    },
  ],
  [
    'the reservation of a slot',
    async () => {
      const body = { reason: 'tests' };
      await bench.api.call('reserveSlot', { params: SLOT, body });
      return { params: SLOT, routes: { get: 'getReservation', put: 'reserveSlot', remove: 'releaseSlot' }, body };
    },
  ],
];

describe.each(resources)('%s', (_, make) => {
  it('is overwritten and removed only as it was read', async () => {
    const { params, routes, body } = await make();
    const text = JSON.stringify(body);
    const ask = async (name: RouteName, headers: Record<string, string> = {}, more: CallOptions = {}) => {
      const answer = await bench.api.request(name, { params, headers, withoutIfMatch: true, ...more });
      return { status: answer.status, etag: answer.headers.get('etag') };
    };
    const put = (ifMatch?: string) => ask(routes.put, ifMatch ? { 'if-match': ifMatch } : {}, { body: text });

    const read = await ask(routes.get);
    expect(read).toEqual({ status: 200, etag: expect.stringMatching(/^"\d+"$/) });
    expect((await put()).status).toBe(428);
    expect((await put('"1234"')).status).toBe(412);
    expect(await ask(routes.get)).toEqual(read);
    const written = await put(read.etag!);
    expect(written.status).toBe(200);
    expect(written.etag).not.toBe(read.etag);
    expect(await ask(routes.get)).toEqual({ status: 200, etag: written.etag });

    expect((await put(read.etag!)).status).toBe(412);
    expect((await ask(routes.remove, { 'if-match': read.etag! })).status).toBe(412);
    const latest = await put('*');
    expect((await ask(routes.remove, { 'if-match': latest.etag! })).status).toBe(204);
    expect((await ask(routes.get)).status).toBe(404);
    expect((await put(latest.etag!)).status).toBe(404);
  });
});

it('a slot that nobody has reserved needs none', async () => {
  const body = JSON.stringify({ reason: 'first' });
  const answer = await bench.api.request('reserveSlot', { params: SLOT, body, withoutIfMatch: true });
  expect(answer.status).toBe(200);
});
