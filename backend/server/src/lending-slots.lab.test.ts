import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ChainDefinition, Infrastructure } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { REPOSITORY_ROOT } from './platform/config.js';
import type { TestServer } from './testing/server.js';
import { buildTwin, startTwinLab, twinLabMissing, twinProcesses } from './testing/twin-lab.js';
import { until } from './testing/wait.js';

const run = promisify(execFile);

const LIMIT_MS = 240_000;
const STEP_MS = 120_000;
const needed = ['board/boardd', 'board/images/onetcard'].map((it) => join(REPOSITORY_ROOT, 'fpga/build', it));
const missing =
  twinLabMissing() ??
  [...needed, '/usr/bin/iperf3'].filter((path) => !existsSync(path)).map((it) => `needs ${it}`)[0] ??
  null;

const RACK = Infrastructure.parse(JSON.parse(readFileSync(join(REPOSITORY_ROOT, 'twin/topologies/rack.json'), 'utf8')));
/** A partial load takes 67 ms. */
const SLOT = { board: 'board-2', slot: 0 };
const PORT = 7070;
const SERVER = '10.0.2.1';
const KEY = '5f1d3b9a7c2e4f60815d2c3e4a5b6978c0ffee1122334455d00df00dcafebabe';
const TURNS = 6;

const tunnel = (id: string, mode: string) =>
  ({ id, kind: 'nf', nf: 'crypto-tunnel', config: { mode, key: KEY, acceleration: 'none' } }) as const;
const CHAIN = ChainDefinition.parse({
  name: 'vpn',
  title: 'VPN',
  traffic_class: {
    from: ['client-1'],
    match: [{ attribute: 'ip.dst', value: `${SERVER}/32` }],
    rate_bps: 1_000_000,
    packet_bytes: 1300,
  },
  nodes: [
    { id: 'in', kind: 'ingress' },
    tunnel('near', 'encrypt'),
    tunnel('far', 'decrypt'),
    { id: 'out', kind: 'egress' },
  ],
  edges: [
    { id: 'e1', from: 'in', to: 'near' },
    { id: 'e2', from: 'near', to: 'far' },
    { id: 'e3', from: 'far', to: 'out' },
  ],
});

/** Takes one connection and tells how many bytes came, and their SHA-256. */
const RECEIVE = `
import hashlib, socket
s = socket.create_server(("", ${PORT})); c, _ = s.accept(); h = hashlib.sha256(); n = 0
while d := c.recv(1 << 16): h.update(d); n += len(d)
c.sendall(b"all"); print(n, h.hexdigest())`;
/** Sends over one connection until the file is gone, then tells how many bytes, and their SHA-256. */
const send = (file: string) => `
import hashlib, os, random, socket, time
s = socket.socket(); s.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1200)
while s.connect_ex(("${SERVER}", ${PORT})): time.sleep(0.2); s = socket.socket()
r = random.Random(7); h = hashlib.sha256(); n = 0
while os.path.exists("${file}"): d = r.randbytes(1000); h.update(d); s.sendall(d); n += len(d); time.sleep(0.01)
s.shutdown(socket.SHUT_WR); assert s.recv(9) == b"all"; print(n, h.hexdigest())`;

describe.skipIf(missing)(`a slot that is lent${missing ? ` (${missing})` : ''}`, () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startTwinLab();
    await buildTwin(server, RACK);
  }, LIMIT_MS);
  afterEach(() => server.stop());

  /** Runs a script in the network namespace of a host, which is found by a process in it. */
  const inside = async (node: string, port: number, script: string) => {
    const id = `iperf3-${port}`;
    await server.api.call('createApplication', { body: { id, kind: 'iperf3-server', node, config: { port } } });
    const [found] = await until(`${id} runs`, async () => {
      const all = twinProcesses(server, 'iperf3').filter(({ command }) => command.split('\0').includes(String(port)));
      return all.length > 0 && all;
    });
    const enter = (...command: string[]) =>
      run('nsenter', ['-t', String(found!.pid), '-n', ...command], { timeout: LIMIT_MS });
    // Open vSwitch cuts what a host leaves it to cut to the MTU of the link, and not to the MSS.
    const { stdout } = await enter('ip', '-j', 'route', 'get', SERVER);
    const { dev } = JSON.parse(stdout)[0];
    if (dev !== 'lo') await enter('ip', 'link', 'set', 'dev', dev, 'gso_max_segs', '1');
    return enter('/usr/bin/python3', '-c', script);
  };

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
      await run('touch', [file]);
      const received = inside('web-1', 5301, RECEIVE);
      const sent = inside('client-1', 5302, send(file));
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
      await run('rm', [file]);
      const [out, told] = await Promise.all([received, sent]);
      expect(out.stdout).toBe(told.stdout);
      expect(Number(out.stdout.split(' ')[0])).toBeGreaterThan(100_000);
      const { items } = await api.call('listCounters', { query: { limit: 100 } });
      for (const { instance_id, drops } of items.filter(({ instance_id: it }) => it.startsWith('vpn.')))
        for (const reason of ['replayed', 'bad_icv', 'unknown_session'])
          expect(drops[reason] ?? 0, `${instance_id} ${reason}`).toBe(0);
      process.stderr.write(
        `${turns.length} turns during ${out.stdout.split(' ')[0]} bytes; a hand-over of the emulated board takes ${switch_ms?.toFixed(0)} ms (median)\n`,
      );
    },
    LIMIT_MS,
  );
});
