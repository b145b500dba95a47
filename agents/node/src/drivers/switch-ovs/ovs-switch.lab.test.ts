import { type SwitchEntry, SwitchSpec } from '@orrery/contract';
import { describe, expect, it, vi } from 'vitest';
import { OvsLab, ovsMissing } from '../../testing/ovs-lab.js';
import { Ofctl } from './ofctl.js';
import { OVS_ENTRIES, switchOvs } from './switch-ovs.js';

const missing = ovsMissing();
const PORTS = ['p1', 'p2', 'p3'];

const ipv4 = { 'eth.type': { value: 0x0800, mask: 0xffff } };
const entry = (fields: object, more: Partial<SwitchEntry> = {}): SwitchEntry =>
  ({
    table: 'steer',
    priority: 100,
    rule_id: 'rule',
    match: { fields: { ...ipv4, ...fields } },
    actions: [
      { do: 'set-mac', field: 'eth.dst', mac: '02:0e:00:01:00:00' },
      { do: 'output', port: 'p2' },
    ],
    ...more,
  }) as SwitchEntry;
const admit = entry({}, {
  table: 'admit',
  rule_id: null,
  match: { port: 'p1', fields: ipv4 },
  actions: [
    { do: 'mark-from-host' },
    { do: 'set-mac', field: 'eth.src', mac: '02:00:00:00:00:01' },
    { do: 'next-table', table: 'steer' },
  ],
} as Partial<SwitchEntry>);
const spec = (entries: SwitchEntry[], groups: SwitchSpec['groups'] = [], generation = 1): SwitchSpec =>
  SwitchSpec.parse({
    generation,
    ports: PORTS.map((name) => ({ name, role: 'host', neighbour: name })),
    entries,
    groups,
  });
const split = (boundary: number): SwitchSpec['groups'][number] => ({
  id: boundary + 1,
  kind: 'select',
  key: ['ip.src', 'port.dst'],
  buckets: [
    { weight: boundary, actions: [{ do: 'output', port: 'p2' }] },
    { weight: 65536 - boundary, actions: [{ do: 'output', port: 'p3' }] },
  ],
});
const toGroup = (group: number) => entry({}, { actions: [{ do: 'group', group }] });

async function bench() {
  const lab = new OvsLab();
  await lab.setUp(PORTS);
  const make = () => switchOvs.make({ bridge: lab.bridge, run_dir: lab.run_dir, ports: {} });
  const driver = make();
  const apply = async (wanted: SwitchSpec, to = driver) => to.apply(wanted, await to.ports(PORTS));
  return { lab, make, driver, apply };
}

describe.skipIf(missing)(`an Open vSwitch bridge${missing ? ` (${missing})` : ''}`, () => {
  it('holds exactly what is specified, and unchanged entries keep their counters', async () => {
    const { lab, driver, apply } = await bench();
    const kept = entry({ 'ip.proto': { value: 0x10, mask: 0xf0 } });
    await apply(spec([admit, kept, entry({ 'ip.proto': { value: 6, mask: 255 } })]));
    expect(lab.flows()).toHaveLength(3);
    lab.ofctl('packet-out', `in_port=1 packet=${udp()} actions=TABLE`);
    const counted = async () => (await driver.read()).counts.get(1)?.packets;
    expect(await counted()).toBe(1);
    await apply(spec([admit, kept], [], 2));
    expect(lab.flows()).toHaveLength(2);
    expect(await counted()).toBe(1);
    await apply(spec([], [], 3));
    expect(lab.flows()).toEqual([]);
  });

  it('takes as many entries as it declares', async () => {
    const { driver, apply } = await bench();
    const entries = Array.from({ length: OVS_ENTRIES }, (_, i) =>
      entry({ 'ip.src': { value: i, mask: 0xffff_ffff }, 'port.dst': { value: i, mask: 0xffff } }),
    );
    await apply(spec(entries));
    expect((await driver.read()).entries).toBe(OVS_ENTRIES);
    await apply(spec(entries.slice(1), [], 2));
    expect((await driver.read()).entries).toBe(OVS_ENTRIES - 1);
  }, 60_000);

  it('matches every field of the contract', async () => {
    const { lab, apply } = await bench();
    const tcp = { 'ip.proto': { value: 6, mask: 255 }, 'ip.fragment': { value: 0, mask: 1 } };
    const steered = entry({
      ...tcp,
      'ip.src': { value: 0x0a000000, mask: 0xff000000 },
      'ip.dst': { value: 0x0a000201, mask: 0xffffffff },
      'port.src': { value: 0x8000, mask: 0x8000 },
      'port.dst': { value: 80, mask: 0xffff },
      from_host: { value: 1, mask: 1 },
    });
    await apply(spec([admit, steered]));
    const packet = 'in_port=p1,tcp,nw_src=10.1.2.3,nw_dst=10.0.2.1,tp_src=40000,tp_dst=80,nw_ttl=64';
    expect(lab.trace(packet)).toContain('dst=02:0e:00:01:00:00');
    for (const [was, is] of [
      ['40000', '4000'],
      ['tp_dst=80', 'tp_dst=81'],
      ['10.1.2.3', '11.1.2.3'],
      ['10.0.2.1', '10.0.2.2'],
      ['tcp,', 'udp,'],
      ['in_port=p1', 'in_port=p3'],
      ['nw_ttl=64', 'nw_ttl=64,nw_frag=first'],
    ])
      expect(lab.trace(packet.replace(was!, is!).replace(/^(.*udp.*)tp_src(.*)tp_dst/, '$1udp_src$2udp_dst'))).toBe(
        'drop',
      );
    for (const tag of ['dl_vlan=7', 'dl_vlan=0', 'dl_vlan=7,dl_vlan_pcp=1'])
      expect(lab.trace(`${packet},${tag}`)).toBe('drop');
    const hop = { 'eth.dst': { value: 0x020e_0001_0000, mask: 0xffff_ffff_0000 } };
    const back: SwitchEntry = { ...admit, match: { fields: hop }, actions: [{ do: 'output', port: 'p2' }] };
    const v6: SwitchEntry = {
      ...admit,
      match: { ipv6_dst: 'fd00::2', fields: { 'eth.type': { value: 0x86dd, mask: 0xffff } } },
      actions: [{ do: 'output', port: 'p3' }],
    };
    await apply(spec([back, v6], [], 2));
    expect(lab.trace('in_port=p2,dl_dst=02:0e:00:01:be:ef')).toBe(lab.datapathPort('p2'));
    expect(lab.trace('in_port=p1,ipv6,ipv6_dst=fd00::2')).toBe(lab.datapathPort('p3'));
    expect(lab.trace('in_port=p1,ipv6,ipv6_dst=fd00::3')).toBe('drop');
    const own = { ...ipv4, 'eth.src': { value: 0x0200_0000_0001, mask: 0xffff_ffff_ffff } };
    const nothing = entry({}, { table: 'admit', priority: 1, match: { fields: ipv4 }, actions: [{ do: 'drop' }] });
    await apply(spec([{ ...back, match: { fields: own } } as SwitchEntry, nothing], [], 3));
    expect(lab.trace('in_port=p1,ip,dl_src=02:00:00:00:00:01')).toBe(lab.datapathPort('p2'));
    expect(lab.trace('in_port=p1,ip,dl_src=02:00:00:00:00:02')).toBe('drop');
  });

  it('is adopted unchanged by the next driver, with the same groups, flows and counters', async () => {
    const { lab, make, apply } = await bench();
    const wanted = spec([admit, toGroup(101)], [split(100)]);
    await apply(wanted);
    lab.ofctl('packet-out', `in_port=1 packet=${udp()} actions=TABLE`);
    const flows = () => lab.flows().map((line) => line.replace(/duration=[^,]+,/, ''));
    const before = [lab.ofctl('dump-groups').split('\n')[1], ...flows()];
    expect(before.join()).toContain('n_packets=1');
    const write = vi.spyOn(Ofctl.prototype, 'writeGroups');
    const next = make();
    await apply(wanted, next);
    expect(write.mock.calls).toEqual([[[]]]);
    expect([lab.ofctl('dump-groups').split('\n')[1], ...flows()]).toEqual(before);
    expect((await next.read()).drift).toEqual([]);
  });

  it('changes from one split to another, and removes the old one', async () => {
    const { lab, driver, apply } = await bench();
    await apply(spec([admit, toGroup(101)], [split(100)]));
    await apply(spec([admit, toGroup(201)], [split(200)], 2));
    expect(lab.ofctl('dump-groups').match(/group_id=\d+/g)).toEqual(['group_id=201']);
    expect((await driver.read()).drift).toEqual([]);
  });

  it('reports what someone else changed, and is restored', async () => {
    const { lab, driver, apply } = await bench();
    const wanted = spec([admit, toGroup(101)], [split(100)]);
    await apply(wanted);
    lab.ofctl('del-flows', 'table=0');
    lab.ofctl('add-flow', 'priority=7,actions=drop');
    lab.ofctl('mod-group', 'group_id=101,type=all,bucket=actions=drop');
    const { drift, drifted_rules } = await driver.read();
    expect(drift).toEqual([
      expect.stringContaining('1 entries were deleted (forwarding)'),
      '1 entries were added',
      '1 groups were changed or deleted',
    ]);
    expect(drifted_rules).toEqual(['rule']);
    await apply(wanted);
    expect((await driver.read()).drift).toEqual([]);
    expect(lab.flows()).toHaveLength(2);
  });

  it.each<[string, (lab: OvsLab) => unknown, RegExp]>([
    ['all flows are deleted', (lab) => lab.ofctl('del-flows'), /^2 entries were deleted/],
    ['one class is deleted', (lab) => lab.ofctl('del-flows', 'table=1'), /^1 entries were deleted \(rule\)/],
    ['a flow takes everything before ours', (lab) => lab.ofctl('add-flow', 'priority=65535,actions=NORMAL'), /added/],
    [
      'the action of a flow is changed',
      (lab) => lab.ofctl('mod-flows', 'table=1,actions=drop'),
      /1 entries were changed/,
    ],
    ['all groups are deleted', (lab) => lab.ofctl('del-groups'), /1 groups were changed or deleted/],
    [
      'a group is added',
      (lab) => lab.ofctl('add-group', 'group_id=9,type=all,bucket=actions=drop'),
      /groups were added/,
    ],
    ['the bridge forgets its flows', (lab) => lab.vsctl('set-fail-mode', lab.bridge, 'standalone'), /entries were/],
  ])('sees and reverts drift: %s', async (_, change, words) => {
    const { lab, driver, apply } = await bench();
    const wanted = spec([admit, toGroup(101)], [split(100)]);
    await apply(wanted);
    const held = () => [
      ...lab.flows().map((line) => line.replace(/(duration|n_packets|n_bytes|idle_age)=[^,]+, ?/g, '')),
      ...lab.ofctl('dump-groups').split('\n').slice(1),
    ];
    const before = held();
    change(lab);
    expect((await driver.read()).drift.join()).toMatch(words);
    await apply(wanted);
    expect(held()).toEqual(before);
    expect((await driver.read()).drift).toEqual([]);
  });

  it('leaves out entries that name a missing port, and adds them when the port exists', async () => {
    const { lab, driver, apply } = await bench();
    lab.vsctl('del-port', lab.bridge, 'p3');
    const wanted = spec([admit, entry({}, { actions: [{ do: 'output', port: 'p3' }] })]);
    await apply(wanted);
    expect(lab.flows()).toHaveLength(1);
    lab.vsctl('add-port', lab.bridge, 'p3');
    await apply(wanted);
    expect(lab.flows()).toHaveLength(2);
    lab.run('ip', 'link', 'set', 'p3-far', 'down');
    const up = async () => (await driver.ports(['p3']))[0]!.up;
    await expect.poll(up).toBe(false);
  });

  it('is reported in bounded time when it hangs', async () => {
    const { lab, driver } = await bench();
    const pid = Number(lab.run('cat', `${lab.run_dir}/ovs-vswitchd.pid`));
    await driver.probe(5000);
    process.kill(pid, 'SIGSTOP');
    await expect(driver.probe(100)).rejects.toThrow('bridge br0: does not answer within 0.1 s');
    const began = Date.now();
    await expect(driver.read()).rejects.toThrow(/bridge br0: does not answer within 5 s/);
    expect(Date.now() - began).toBeLessThan(8000);
    process.kill(pid, 'SIGCONT');
    await driver.read();
    await driver.probe(5000);
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => driver.probe(5000).then(() => '', String)).toContain('cannot be reached');
  });
});

/** A UDP packet over IPv4, in hexadecimal. */
function udp(): string {
  return `020efffffffe02000000000108004500001c00000000401100000a0000010a00000204000050000800${'00'.repeat(19)}`;
}
