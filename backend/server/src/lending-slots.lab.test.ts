import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Infrastructure } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { REPOSITORY_ROOT } from './platform/config.js';
import type { TestServer } from './testing/server.js';
import { pythonOnHost, RECEIVE, sending, sendSegments, tunnelChain } from './testing/tunnel-lab.js';
import { buildTwin, insideHost, startTwinLab, twinLabMissing } from './testing/twin-lab.js';
import { until } from './testing/wait.js';

const LIMIT_MS = 240_000;
const STEP_MS = 120_000;
const needed = ['board/boardd', 'board/images/onetcard'].map((it) => join(REPOSITORY_ROOT, 'fpga/build', it));
const missing = twinLabMissing() ?? needed.filter((path) => !existsSync(path)).map((it) => `needs ${it}`)[0] ?? null;

const RACK = Infrastructure.parse(JSON.parse(readFileSync(join(REPOSITORY_ROOT, 'twin/topologies/rack.json'), 'utf8')));
/** A partial load takes 67 ms. */
const SLOT = { board: 'board-2', slot: 0 };
const TURNS = 6;

const CHAIN = tunnelChain({ rate_bps: 1_000_000 });

/** Until the file is gone. */
const send = (file: string) =>
  sending(1200, `while os.path.exists("${file}"): send(r.randbytes(1000)); time.sleep(0.01)`);

describe.skipIf(missing)(`a slot that is lent${missing ? ` (${missing})` : ''}`, () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startTwinLab();
    await buildTwin(server, RACK);
  }, LIMIT_MS);
  afterEach(() => server.stop());

  it(
    'goes to both ends of a tunnel in turn while one connection lasts, and no byte of it is lost or played again',
    async () => {
      const { api } = server;
      await until('the board operates', async () => {
        const { items } = await api.call('listAccelerators', {});
        return items.find(({ id }) => id === SLOT.board)?.state === 'operating';
      });
      const { id: chain_id } = await api.call('createChain', { body: CHAIN });
      const { id: deploys } = await api.call('createDeployment', { body: { chain_id } });
      expect(await server.finished(deploys)).toMatchObject({ state: 'COMPLETED', error: null });
      const before = (await api.call('listNfInstances')).items.map(({ id, server: at }) => `${id} ${at}`);

      const file = join(server.scratch.path, 'sends');
      writeFileSync(file, '');
      const [atServer, atClient] = [insideHost(server, 'web-1'), insideHost(server, 'client-1')];
      await sendSegments(atClient);
      const received = pythonOnHost(atServer, RECEIVE);
      const sent = pythonOnHost(atClient, send(file));
      const accelerators = [{ kind: 'slot' as const, ...SLOT }];
      const body = { title: 'Ends', chains: [chain_id], accelerators, strategy: 'round-robin' as const, slice_s: 1 };
      const { id } = await api.call('createLendingGroup', { body });
      const turns = await until(
        'each end has had it several times',
        async () => {
          const { items } = await api.call('listLendingTurns', { params: { id }, query: { limit: 100 } });
          return items.length >= TURNS && items.toReversed();
        },
        STEP_MS,
      );
      expect(turns.map(({ node_id }) => node_id)).toEqual(turns.map((_, n) => (n % 2 === 0 ? 'far' : 'near')));
      for (const [n, { from_ms }] of turns.slice(1).entries()) expect(from_ms).toBeGreaterThanOrEqual(turns[n]!.to_ms!);
      const { switch_ms } = await api.call('getLendingGroup', { params: { id } });
      await api.call('deleteLendingGroup', { params: { id } });
      const back = async () => (await api.call('listNfInstances')).items.map(({ id: it, server: at }) => `${it} ${at}`);
      await until('both are where they were', async () => (await back()).join() === before.join(), STEP_MS);
      rmSync(file);
      const [got, told] = (await Promise.all([received, sent])).map((text) => text.trim().split(' '));
      expect(got).toEqual(told!.slice(0, 2));
      expect(Number(got![0])).toBeGreaterThan(100_000);
      const { items } = await api.call('listCounters', { query: { limit: 100 } });
      for (const { instance_id, drops } of items.filter(({ instance_id: it }) => it.startsWith('vpn.')))
        for (const reason of ['replayed', 'bad_icv', 'unknown_session'])
          expect(drops[reason] ?? 0, `${instance_id} ${reason}`).toBe(0);
      process.stderr.write(
        `${turns.length} turns during ${got![0]} bytes; a hand-over of the emulated board takes ${switch_ms?.toFixed(0)} ms (median)\n`,
      );
    },
    LIMIT_MS,
  );
});
