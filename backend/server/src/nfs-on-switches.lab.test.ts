import { ChainDefinition, Infrastructure, type PcapInfo, type SwitchNode } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { replayThroughFirewall } from './testing/firewall-replay.js';
import { RACK } from './testing/fixtures.js';
import { mixedCapture } from './testing/mixed-capture.js';
import type { TestServer } from './testing/server.js';
import { buildTwin, isBuilt, P4_SWITCH, startTwinLab, twinLabMissing, twinProcesses } from './testing/twin-lab.js';
import { until } from './testing/wait.js';

const missing = twinLabMissing({ p4: true });
/** Several times what a quiet machine needs. */
const LIMIT_MS = 240_000;
const FRAMES = 400;
const CLIENT = RACK.hosts.find(({ id }) => id === 'client-1')!;

const RULES = [
  { action: 'deny', proto: 'tcp', dst_port: 23 },
  { action: 'allow', src: '10.0.1.1', proto: 'udp', dst_port: '100-700' },
  { action: 'deny', proto: 'udp', src_port: '1000-2000' },
  { action: 'deny', dst: '2001:db8::/32' },
  { action: 'deny', proto: 47 },
];

/** A firewall and a monitor for what a client sends to a server. */
function chainOf(name: string, from: string, rules: readonly object[], rate_bps: number): ChainDefinition {
  return ChainDefinition.parse({
    name,
    title: name,
    traffic_class: { from: [from], match: [{ attribute: 'ip.dst', value: '10.0.2.1/32' }], rate_bps },
    nodes: [
      { id: 'in', kind: 'ingress' },
      { id: 'fw', kind: 'nf', nf: 'firewall', config: { default_action: 'allow', rules } },
      { id: 'mon', kind: 'nf', nf: 'monitor' },
      { id: 'out', kind: 'egress' },
    ],
    edges: [
      { id: 'e1', from: 'in', to: 'fw' },
      { id: 'e2', from: 'fw', to: 'mon' },
      { id: 'e3', from: 'mon', to: 'out' },
    ],
  });
}

/** The rack with other switches. */
const rackOf = (driver: SwitchNode['driver'], table_entries: number): Infrastructure =>
  Infrastructure.parse({ ...RACK, switches: RACK.switches.map((one) => ({ ...one, driver, table_entries })) });

describe.skipIf(missing)(`NFs on switches${missing ? ` (${missing})` : ''}`, () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startTwinLab();
  });
  afterEach(() => server.stop());

  async function deploy(chain_id: string, offload: 'never' | 'where-possible') {
    const accepted = await server.api.call('createDeployment', { body: { chain_id, offload } });
    const done = await server.finished(accepted.id);
    expect(done, done.error?.detail).toMatchObject({ state: 'COMPLETED' });
    const { items } = await server.api.call('listDeployments', { query: {} });
    const { plan_id } = items.find((one) => one.chain_id === chain_id)!;
    return server.api.call('getPlan', { params: { id: plan_id! } });
  }

  const replay = (pcap_id: string) =>
    replayThroughFirewall(server, { pcap_id, node: CLIENT.id, frames: FRAMES, rate_pps: 800 });

  it.each(['ovs', 'p4'] as const)(
    'drop what the software firewall drops of the same capture, over a killed switch and until the tables are full (%s)',
    async (driver) => {
      const rack = rackOf(driver, 4096);
      await buildTwin(server, rack);
      const upload = {
        query: { name: 'mixed.pcap' },
        body: mixedCapture(FRAMES, { mac: CLIENT.mac!, from: '10.0.1.1', to: '10.0.2.1' }),
        headers: { 'content-type': 'application/octet-stream' },
      };
      const { id: pcap } = (await server.api.request('uploadPcap', upload)).body as PcapInfo;
      const { id } = await server.api.call('createChain', { body: chainOf('c', 'client-1', RULES, 1_000_000) });

      const inSoftware = await deploy(id, 'never');
      expect(inSoftware.on_switches).toBeUndefined();
      const software = await replay(pcap);
      expect(software).toMatchObject({ in: FRAMES, monitored: software.out });
      expect(software.denied).toBeGreaterThan(FRAMES / 10);
      expect(software.denied).toBeLessThan(FRAMES / 2);

      const onSwitch = await deploy(id, 'where-possible');
      expect(onSwitch.on_switches).toMatchObject([{ id: 'c.fw.leaf-1', switch: 'leaf-1' }]);
      const { items } = await server.api.call('listNfInstances', { query: { chain_id: id } });
      expect(items.map(({ node_id, driver: by, server: at, state }) => [node_id, by, at, state]).toSorted()).toEqual([
        ['fw', 'switch', 'leaf-1', 'running'],
        ['mon', 'engine', expect.stringMatching(/^server-/), 'running'],
      ]);
      await isBuilt(server, rack);
      expect(await replay(pcap)).toEqual(software);
      // What the switch refused is no loss of the chain.
      const { items: deployed } = await server.api.call('listDeployments', { query: {} });
      expect(deployed).toMatchObject([{ chain_id: id, state: 'running' }]);
      expect(
        await server.api.call('certifyPlan', { params: { id: onSwitch.id }, body: { time_limit_s: 1 } }),
      ).toMatchObject({
        plan_id: onSwitch.id,
      });

      const repairs = async () => (await server.api.call('listSwitches', {})).items[0]!.observed!.repairs;
      const repaired = await repairs();
      const [killed] = twinProcesses(server, driver === 'ovs' ? 'ovs-vswitchd' : P4_SWITCH);
      process.kill(killed!.pid, 'SIGKILL');
      await until('the rules are back', async () => (await repairs()) > repaired);
      await isBuilt(server, rack);
      expect(await replay(pcap)).toEqual(software);

      // Another chain with more traffic takes the entries.
      const used = (await server.api.call('listSwitches', {})).items[0]!.planned!.entries;
      const many = Array.from({ length: 40 }, (_, i) => ({ action: 'deny', src: `192.0.2.${i}` }));
      // Enough for one of the two, not for both.
      const small = rackOf(driver, used + many.length + 1);
      await buildTwin(server, small);
      const other = await server.api.call('createChain', { body: chainOf('d', 'client-2', many, 9_000_000) });
      const full = await deploy(other.id, 'where-possible');
      expect(full.on_switches).toMatchObject([{ id: 'd.fw.leaf-1' }]);
      expect(full.reasons.find(({ part, subject }) => part === 'offload' && subject === 'c.fw')).toMatchObject({
        decision: 'stays on servers',
        constraint: { constraint: 'switch-table', where: 'leaf-1' },
      });
      for (const { most_entries, available } of full.tables) expect(most_entries).toBeLessThanOrEqual(available);
      await isBuilt(server, small);
      expect(await replay(pcap)).toEqual(software);
    },
    LIMIT_MS,
  );
});
