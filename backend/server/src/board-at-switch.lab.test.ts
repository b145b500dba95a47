import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ChainDefinition, type Deployment, Infrastructure, type PcapInfo, type SwitchNode } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { firewallCounts, replayThroughFirewall } from './testing/firewall-replay.js';
import { RACK } from './testing/fixtures.js';
import { mixedCapture } from './testing/mixed-capture.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const ROOT = resolve(import.meta.dirname, '../../..');
const P4_SWITCH = process.env.ORRERY_P4_SWITCH_COMMAND ?? join(ROOT, 'agents/build/p4/switch/orrery-p4-switch');
const needed = [
  join(ROOT, 'agents/node/dist/agent.mjs'),
  join(ROOT, 'agents/node/generated/p4runtime.json'),
  process.env.ORRERY_ENGINE ?? join(ROOT, 'agents/build/engine/orrery-engine'),
  join(ROOT, 'fpga/build/board/boardd'),
  join(ROOT, 'fpga/build/board/images/onetcard'),
  P4_SWITCH,
  '/usr/share/openvswitch/vswitch.ovsschema',
].filter((path) => !existsSync(path));
const missing = process.getuid?.() !== 0 ? 'needs root' : needed.length > 0 ? `needs ${needed.join(', ')}` : null;
/** Several times what a quiet machine needs. */
const LIMIT_MS = 300_000;
/** A step under load. */
const STEP_MS = 60_000;
const FRAMES = 400;
const CLIENT = RACK.hosts.find(({ id }) => id === 'client-1')!;
const SLOT = { board: 'board-3', slot: 0 };
const NF = { node_id: 'fw' };
const IN_SLOT = 'c.fw.board-3-0';

/** The topology of the demo, where Board 3 hangs on the switch. */
function site(driver: SwitchNode['driver']): Infrastructure {
  const rack = Infrastructure.parse(JSON.parse(readFileSync(join(ROOT, 'twin/topologies/rack.json'), 'utf8')));
  return { ...rack, switches: rack.switches.map((one) => ({ ...one, driver })) };
}

const CHAIN = ChainDefinition.parse({
  name: 'c',
  title: 'c',
  traffic_class: {
    from: ['client-1'],
    match: [{ attribute: 'ip.dst', value: '10.0.2.1/32' }],
    rate_bps: 1_000_000,
  },
  nodes: [
    { id: 'in', kind: 'ingress' },
    {
      id: 'fw',
      kind: 'nf',
      nf: 'stateful-firewall',
      config: { default_action: 'allow', rules: [{ action: 'deny', proto: 'udp', dst_port: '100-1500' }] },
    },
    { id: 'mon', kind: 'nf', nf: 'monitor' },
    { id: 'out', kind: 'egress' },
  ],
  edges: [
    { id: 'e1', from: 'in', to: 'fw' },
    { id: 'e2', from: 'fw', to: 'mon' },
    { id: 'e3', from: 'mon', to: 'out' },
  ],
});

const commandOf = (pid: string) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');

/** Whether the process or one that it comes from names the path. */
function isBelow(pid: string, path: string): boolean {
  if (commandOf(pid).some((word) => word.includes(path))) return true;
  const parent = /^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
  return Number(parent) > 1 && isBelow(parent, path);
}

describe.skipIf(missing)(`the board at the switch of the demo${missing ? ` (${missing})` : ''}`, () => {
  let server: TestServer;
  beforeEach(async () => {
    const env = {
      ORRERY_TWIN: 'on',
      ORRERY_TWIND: join(ROOT, 'twin/bin/twin-launcher'),
      ORRERY_STEP_TIMEOUT_MS: '60000',
      ORRERY_AGENT_STALE_MS: '5000',
    };
    server = await TestServer.start({ env });
  });
  afterEach(() => server.stop());

  async function build(driver: SwitchNode['driver']): Promise<void> {
    await server.api.call('putInfrastructure', { body: site(driver) });
    await until('the twin is up', async () => (await server.api.call('getTwin')).state?.phase === 'up', STEP_MS);
    await operating();
  }

  const operating = () =>
    until(
      'the board operates',
      async () => {
        const { items } = await server.api.call('listAccelerators', {});
        return items.find(({ id }) => id === SLOT.board)?.state === 'operating';
      },
      STEP_MS,
    );

  const deployment = async (): Promise<Deployment> =>
    (await server.api.call('listDeployments', { query: {} })).items[0]!;

  const healthy = () => until('the chain is healthy', async () => (await deployment()).state === 'running', STEP_MS);

  async function move(chain_id: string, to: 'board' | 'software'): Promise<void> {
    const nf = { chain_id, ...NF };
    const body = to === 'board' ? { nf, to, slot: SLOT } : { nf, to };
    const { id } = await server.api.call('createReconfiguration', { body });
    await until(
      `${to} has the NF`,
      async () => (await server.api.call('getReconfiguration', { params: { id } })).state !== 'running',
      STEP_MS,
    );
    const run = await server.api.call('getReconfiguration', { params: { id } });
    expect(run, JSON.stringify(run)).toMatchObject({ state: 'completed' });
  }

  const replay = (pcap_id: string) =>
    replayThroughFirewall(server, { pcap_id, node: CLIENT.id, frames: FRAMES, rate_pps: 400, limit_ms: STEP_MS });

  /** Runs the firewall at last. */
  async function runsBy(chain_id: string) {
    const { items } = await server.api.call('listNfInstances', { query: { chain_id } });
    return items.find(({ node_id, state }) => node_id === 'fw' && state === 'running')?.driver;
  }

  const settled = () =>
    until(
      'no reconfiguration runs',
      async () => {
        const { items } = await server.api.call('listReconfigurations', { query: {} });
        return items.every(({ state }) => state !== 'running');
      },
      STEP_MS,
    );

  /** What was sent before is counted. */
  async function quiet(): Promise<void> {
    let before = '';
    await until(
      'no packet is counted any more',
      async () => {
        await new Promise((done) => setTimeout(done, 1000));
        const now = JSON.stringify(await firewallCounts(server));
        const isSame = now === before;
        before = now;
        return isSame;
      },
      STEP_MS,
    );
  }

  const boardd = (): number => {
    const found = readdirSync('/proc').flatMap((pid) => {
      if (!/^\d+$/.test(pid)) return [];
      try {
        const [program = '', ...args] = commandOf(pid);
        const isOurs = args.includes(SLOT.board) && isBelow(pid, server.scratch.path);
        return program.endsWith('boardd') && isOurs ? [Number(pid)] : [];
      } catch {
        return [];
      }
    });
    return found[0]!;
  };

  it.each(['ovs', 'p4'] as const)(
    'has packets before any engine, drops what software drops, and is told and left when it is killed or stuck (%s)',
    async (driver) => {
      await build(driver);
      const upload = {
        query: { name: 'mixed.pcap' },
        body: mixedCapture(FRAMES, { mac: CLIENT.mac, from: '10.0.1.1', to: '10.0.2.1' }),
        headers: { 'content-type': 'application/octet-stream' },
      };
      const { id: pcap } = (await server.api.request('uploadPcap', upload)).body as PcapInfo;
      const { id } = await server.api.call('createChain', { body: CHAIN });
      const accepted = await server.api.call('createDeployment', { body: { chain_id: id } });
      expect(await server.finished(accepted.id)).toMatchObject({ state: 'COMPLETED' });
      const software = await replay(pcap);
      expect(software).toMatchObject({ in: FRAMES, monitored: software.out });
      expect(software.denied).toBeGreaterThan(FRAMES / 20);

      await move(id, 'board');
      const { items } = await server.api.call('listNfInstances', { query: { chain_id: id } });
      expect(items.find(({ node_id }) => node_id === 'fw')).toMatchObject({
        id: IN_SLOT,
        driver: 'board',
        state: 'running',
      });
      const plan = await server.api.call('getPlan', { params: { id: (await deployment()).plan_id } });
      const [classify] = plan.fabric.rules.filter(({ kind }) => kind === 'classify');
      expect(classify!.targets.map(({ server: place }) => place)).toEqual(['board-3.0']);
      expect(await replay(pcap)).toEqual(software);
      await healthy();

      const stream = () =>
        server.api.call('createApplication', {
          body: {
            id: 'stream',
            kind: 'pcap-replay',
            node: CLIENT.id,
            config: { pcap_id: pcap, rate_pps: 100, loops: 1000 },
          },
        });
      const endStream = () => server.api.request('deleteApplication', { params: { id: 'stream' } });

      // A link of a port: nothing gets through the slot, which its board does not know.
      await stream();
      const fault = await server.api.call('injectFault', { body: { kind: 'link-down', target: 'board-3-far0' } });
      await until(
        'the instance and the chain are told as failed, with the link',
        async () => {
          const { items: now } = await server.api.call('listNfInstances', { query: { chain_id: id } });
          const inSlot = now.find((one) => one.id === IN_SLOT);
          const told = JSON.stringify(await deployment());
          return inSlot?.state === 'failed' && (await deployment()).state !== 'running' && told.includes(SLOT.board);
        },
        STEP_MS,
      );
      await server.api.request('clearFault', { params: { id: fault.id } });
      await healthy();
      await endStream();

      for (const signal of ['SIGKILL', 'SIGSTOP'] as const) {
        const pid = boardd();
        const { monitored } = await firewallCounts(server);
        await stream();
        await until('the stream', async () => (await firewallCounts(server)).monitored > monitored, STEP_MS);
        process.kill(pid, signal);
        await until('the chain is not called healthy', async () => (await deployment()).state !== 'running', STEP_MS);
        // A board that is back at once is loaded again; one that stays silent is given up for software.
        await healthy();
        if (signal === 'SIGSTOP') {
          await until('software has it', async () => (await runsBy(id)) === 'engine', STEP_MS);
          process.kill(pid, 'SIGCONT');
        }
        await endStream();
        await operating();
        await settled();
        if ((await runsBy(id)) === 'engine') await move(id, 'board');
        await healthy();
        await quiet();
        expect(await replay(pcap)).toEqual(software);
      }
    },
    LIMIT_MS,
  );
});
