import { type SwitchEntry, SwitchSpec } from '@orrery/contract';
import { describe, expect, it, vi } from 'vitest';
import { splitSamples } from '../../switch/split-samples.js';
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

/** Flows below the border to p2, the others to p3, as the planner lowers a class over two instances. */
function ranged(border: number, keep?: { capacity: number; idle_timeout_s: number }): SwitchEntry[] {
  const key = ['ip.src', 'ip.dst', 'ip.proto', 'port.src', 'port.dst'];
  const to = (port: string, flow_id: object) =>
    entry({ split: { value: 7, mask: 0xffff }, flow_id }, {
      table: 'split',
      actions: [
        ...(keep ? [{ do: 'keep-flow', split: 7, ...keep }] : []),
        { do: 'set-mac', field: 'eth.dst', mac: port === 'p2' ? '02:0e:00:01:00:00' : '02:0e:00:02:00:00' },
        { do: 'output', port },
      ],
    } as Partial<SwitchEntry>);
  const low: SwitchEntry[] = [];
  for (let at = 0; at < border; ) {
    let size = 1;
    while (at % (2 * size) === 0 && at + 2 * size <= border) size *= 2;
    low.push(to('p2', { value: at, mask: 0x1_0000 - size }));
    at += size;
  }
  const rest = { ...to('p3', { value: 0, mask: 0 }), priority: 1 };
  const classify = entry({}, {
    actions: [
      { do: 'hash-flow', key, split: 7 },
      { do: 'next-table', table: keep ? 'keep' : 'split' },
    ],
  } as Partial<SwitchEntry>);
  const pass: SwitchEntry = {
    ...entry({}, { table: 'keep', priority: 0, rule_id: null }),
    match: { fields: {} },
    actions: [{ do: 'next-table', table: 'split' }],
  };
  return [admit, classify, ...low, rest, ...(keep ? [pass] : [])];
}

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

  it('copies a packet to every port of a group, each with a hop of its own and the metadata as it was', async () => {
    const { lab, driver, apply } = await bench();
    const tag = { value: 0x020e_0007_0000, mask: 0xffff_ffff_0000 };
    const hop = (number: number) => ({ do: 'set-hop', hop: number }) as const;
    const copies: SwitchSpec['groups'][number] = {
      id: 5,
      kind: 'all',
      buckets: [
        { actions: [hop(8), { do: 'output', port: 'p2' }] },
        { actions: [hop(0xfffe), { do: 'output', port: 'p3' }] },
      ],
    };
    const mirror: SwitchEntry = {
      table: 'admit',
      priority: 5,
      rule_id: null,
      match: { port: 'p1', fields: { 'eth.type': { value: 0x800, mask: 0xffff }, 'eth.dst': tag } },
      actions: [{ do: 'group', group: 5 }],
    };
    await apply(spec([mirror], [copies]));
    const traced = lab.trace('in_port=1,dl_dst=02:0e:00:07:12:34,dl_type=0x0800,nw_src=10.0.0.1,nw_dst=10.0.0.2');
    expect(traced).toMatch(/dst=02:0e:00:08:00:00\/ff:ff:ff:ff:00:00/);
    expect(traced).toMatch(/dst=02:0e:ff:fe:00:00\/ff:ff:ff:ff:00:00/);
    await apply(spec([mirror], [copies], 2));
    expect((await driver.read()).drift).toEqual([]);
  });

  it('sends each flow by the range of its hash, and by new ranges at once', async () => {
    const { lab, driver, apply } = await bench();
    const flow = (i: number) =>
      `in_port=1,tcp,nw_src=10.0.0.${i},nw_dst=10.0.1.1,tcp_src=${1000 + 37 * i},tcp_dst=80,nw_ttl=64`;
    const traced = (i: number) => {
      const text = lab.run('ovs-appctl', 'ofproto/trace', lab.bridge, flow(i));
      return {
        hash: Number(/^Final flow: .*reg2=0x([0-9a-f]+)/m.exec(text)?.[1]?.replace(/^/, '0x') ?? 0),
        to: text.includes(`${lab.datapathPort('p2')}`) && text.split('Datapath actions:')[1]!.trim().split(',').at(-1),
      };
    };
    const [left, right] = [lab.datapathPort('p2'), lab.datapathPort('p3')];
    const hashes = new Set<number>();
    for (const [generation, border] of [32_768, 1].entries()) {
      await apply(spec(ranged(border), [], generation + 1));
      for (let i = 1; i <= 16; i++) {
        const { hash, to } = traced(i);
        hashes.add(hash);
        expect([hash, to]).toEqual([hash, hash < border ? left : right]);
      }
    }
    expect(hashes.size).toBe(16);
    expect((await driver.read()).drift).toEqual([]);
  });

  it('keeps flows in progress at their targets when ranges change, within its room, and over a new agent', {
    timeout: 60_000,
  }, async () => {
    const { lab, make, driver, apply } = await bench();
    const keep = { capacity: 12, idle_timeout_s: 300 };
    // The port by which each flow leaves; sent one after the other, so that none is lost for want of room.
    const all = async (flows: number[]): Promise<string[]> => {
      const ends = ['p1-far', 'p2-far', 'p3-far'];
      const answer = lab.run('/usr/bin/python3', '-c', EXCHANGE, ...ends, ...flows.map(udpOf));
      return JSON.parse(answer).map((end: string) => end.replace('-far', ''));
    };
    const old = Array.from({ length: 8 }, (_, i) => i);
    const fresh = Array.from({ length: 6 }, (_, i) => 100 + i);
    await apply(spec(ranged(32_768, keep)));
    const before = await all(old);
    expect(new Set(before).size).toBe(2);
    await apply(spec(ranged(1, keep), [], 2));
    expect(await all(old)).toEqual(before);
    expect(await all(fresh)).toEqual(fresh.map(() => 'p3'));

    const reading = await driver.read();
    expect(reading.drift).toEqual([]);
    expect(reading.kept).toHaveLength(keep.capacity);
    // 14 flows began, and two had no room.
    const notKept = async (of = driver) => (await of.read()).unkept;
    await expect.poll(() => notKept()).toEqual({ 'their split has no room': 2 });
    expect(reading.entries).toBe(ranged(1, keep).length);
    const entries = ranged(1, keep);
    const [figures] = splitSamples(entries, reading.counts, reading.kept!, new Map());
    const [left, right] = ['02:0e:00:01:00:00', '02:0e:00:02:00:00'].map(
      (mac) =>
        figures!.targets.find(({ to }) => to.kind === 'hop' && to.hop === Number.parseInt(mac.slice(9, 11), 16))!,
    );
    const onLeft = before.filter((to) => to === 'p2').length;
    expect(left).toMatchObject({ flows: onLeft, exceptions: onLeft });
    expect(right).toMatchObject({ flows: keep.capacity - onLeft, exceptions: 0 });

    const next = make();
    await apply(spec(entries, [], 3), next);
    expect((await next.read()).kept).toHaveLength(keep.capacity);
    expect(await notKept(next)).toEqual({});
    expect(await all(old)).toEqual(before);
    // The instance on the left is gone: its flows follow the ranges.
    await apply(
      spec(
        entries.filter(({ actions }) => !JSON.stringify(actions).includes('"p2"')),
        [],
        4,
      ),
      next,
    );
    expect(await all(old)).toEqual(old.map(() => 'p3'));
    await apply(spec(ranged(1), [], 5), next);
    expect((await next.read()).kept).toEqual([]);
    expect((await next.read()).drift).toEqual([]);
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
    await expect.poll(() => driver.probe(5000).then(() => '', String)).toContain('its process does not answer at /');
  });
});

/** A UDP packet over IPv4, in hexadecimal. */
function udp(): string {
  return `020efffffffe02000000000108004500001c00000000401100000a0000010a00000204000050000800${'00'.repeat(19)}`;
}

/** A packet of one of 256 flows. */
function udpOf(flow: number): string {
  const byte = flow.toString(16).padStart(2, '0');
  return udp().replace('0a0000010a000002', `0a0000${byte}0a000002`);
}

/** Sends frames on the first interface, and prints on which of the others each arrives, by its IP source address. */
const EXCHANGE = `
import json, select, socket, sys
names = sys.argv[1:4]
ends = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) for _ in names]
for end, name in zip(ends, names):
    end.bind((name, 3))
went = []
for text in sys.argv[4:]:
    frame = bytes.fromhex(text)
    ends[0].send(frame)
    found = None
    while found is None:
        ready, _, _ = select.select(ends[1:], [], [], 5)
        if not ready:
            sys.exit("a packet was lost")
        for end in ready:
            if end.recv(2000)[26:30] == frame[26:30]:
                found = end.getsockname()[0]
    went.append(found)
print(json.dumps(went))
`;
