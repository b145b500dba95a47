import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { P4Assignment, type P4Entry, type P4ProgramFiles } from '@orrery/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PACKAGE_ROOT } from '../../package-root.js';
import { bmv2Missing, P4Lab, p4Missing } from '../../testing/p4-lab.js';
import { checksum, type Sent } from '../../testing/switch-oracle.js';
import { PORTS, specOf } from '../../testing/switch-programs.js';
import { P4RuntimeClient } from '../p4runtime/p4runtime-client.js';
import type { SwitchDriver } from '../switch-driver.js';
import { switchP4 } from '../switch-p4/switch-p4.js';
import { ownEntry } from './own-entries.js';
import { loadOwnProgram } from './own-program.js';

const EXAMPLES = join(PACKAGE_ROOT, '../../twin/p4/examples');
const SEND = join(PACKAGE_ROOT, 'src/testing/send_frames.py');
const LIMIT_MS = 60_000;

function filesOf(name: string, change: (json: string) => string = (json) => json): P4ProgramFiles {
  const bmv2_json = change(readFileSync(join(EXAMPLES, `${name}.json`), 'utf8'));
  const p4info = readFileSync(join(EXAMPLES, `${name}.p4info.txtpb`), 'utf8');
  return { hash: createHash('sha256').update(bmv2_json).update(p4info).digest('hex'), bmv2_json, p4info };
}

const ROUTER = filesOf('ipv4-router');
const FLOWS = filesOf('flow-counter');
const L2 = filesOf('l2-switch');
const NSH = filesOf('nsh-forwarder');

const GATEWAY = '020efffffffe';
const MACS = PORTS.map((_, i) => `02000000000${i + 1}`);
const mac = (hex: string) => hex.match(/../g)!.join(':');

/** UDP from the host at the first port to 10.0.0.`to`, as it leaves a host of the twin. */
function packet(to: number, ttl = 64, ethernet = GATEWAY + MACS[0]!): Buffer {
  const header = Buffer.alloc(20);
  header.writeUInt8(0x45, 0);
  header.writeUInt16BE(46, 2);
  header.writeUInt8(ttl, 8);
  header.writeUInt8(17, 9);
  header.writeUInt32BE(0x0a000001, 12);
  header.writeUInt32BE(0x0a000000 + to, 16);
  header.writeUInt16BE(checksum(header), 10);
  const udp = Buffer.alloc(26);
  udp.writeUInt16BE(4000, 0);
  udp.writeUInt16BE(80, 2);
  udp.writeUInt16BE(26, 4);
  return Buffer.concat([Buffer.from(`${ethernet}0800`, 'hex'), header, udp]);
}
const from = (frame: Buffer): Sent => ({ port: 'p1', frame });
/** As the router sends it to the host 10.0.0.`to`. */
const routed = (to: number): Sent => ({ port: PORTS[to - 1]!, frame: packet(to, 63, MACS[to - 1]! + GATEWAY) });

/** Of the host at each port. */
const ROUTES: readonly P4Entry[] = PORTS.map((port, i) => ({
  table: 'routes',
  match: { dst_addr: `10.0.0.${i + 1}` },
  action: 'forward',
  params: { next_hop: mac(MACS[i]!), port },
}));

describe.each([
  { kind: 'p4' as const, missing: p4Missing() },
  { kind: 'bmv2' as const, missing: bmv2Missing() },
])('a program of a user on $kind', ({ kind, missing }) => {
  let generation = 100;
  class Bench {
    readonly lab = new P4Lab(kind);
    driver!: SwitchDriver;

    async setUp(): Promise<this> {
      await this.lab.setUp(PORTS);
      this.driver = this.lab.make();
      return this;
    }

    get programs() {
      return this.driver.programs!;
    }

    async put(files: P4ProgramFiles, content: Partial<P4Assignment>): Promise<void> {
      generation += 1;
      this.programs.take(files);
      const ports = PORTS.map((name) => ({ name, role: 'host' as const, neighbour: name }));
      const program = P4Assignment.parse({ name: 'mine', hash: files.hash, ...content });
      const spec = { generation, ports, entries: [], groups: [], program };
      await this.driver.apply(spec, await this.driver.ports(PORTS));
    }

    /** As an agent does until it is written. */
    putAgain(files: P4ProgramFiles, content: Partial<P4Assignment>): Promise<void> {
      const put = () => this.put(files, content).then(() => 'written', String);
      return expect.poll(put, { timeout: 20_000 }).toBe('written');
    }

    /** What has come out when the awaited frames have. */
    send(frames: readonly Sent[], awaited: readonly Sent[]): Sent[] {
      const text = (all: readonly Sent[]) => all.map(({ port, frame }) => [port, frame.toString('hex')]);
      const command = ['netns', 'exec', this.lab.namespace, '/usr/bin/python3', SEND, ...PORTS];
      const input = JSON.stringify({ frames: text(frames), awaited: text(awaited) });
      const came = JSON.parse(execFileSync('ip', command, { input, timeout: 30_000 }).toString()) as string[][];
      return came.map(([port, frame]) => ({ port: port!, frame: Buffer.from(frame!, 'hex') }));
    }

    /** Another controller, which has the right to write until the test ends or it is closed. */
    other(): P4RuntimeClient {
      const client = new P4RuntimeClient(`unix:${this.lab.socket}`, '1');
      onTestFinished(() => client.close());
      return client;
    }
  }
  const test = (text: string, run: (bench: Bench) => Promise<void>) =>
    it.skipIf(missing)(
      `${text}${missing ? ` (${missing})` : ''}`,
      async () => run(await new Bench().setUp()),
      LIMIT_MS,
    );

  test('forwards by the entries of the user, and counts them', async (bench) => {
    await bench.put(ROUTER, { entries: [...ROUTES] });
    const lost = [from(packet(2, 1)), from(packet(77)), from(packet(3, 0))];
    const passing = [2, 3, 2].map((to) => from(packet(to)));
    const awaited = [routed(2), routed(3), routed(2)];
    const came = bench.send([...lost, ...passing], awaited);
    expect(came).toHaveLength(3);
    expect(came).toEqual(expect.arrayContaining(awaited));
    const tables = await bench.programs.tables();
    expect(tables).toMatchObject({ hash: ROUTER.hash, left_out: 0, groups: [] });
    const routes = tables.entries.toSorted((a, b) => (a.match.dst_addr! < b.match.dst_addr! ? -1 : 1));
    expect(routes).toEqual(
      ROUTES.map((route, i) => ({ ...route, packets: [0, 2, 1][i], bytes: [0, 120, 60][i], own: true })),
    );
    expect(tables.default_actions).toMatchObject([{ table: 'Router.routes', action: 'Router.drop' }]);
    expect(await bench.driver.read()).toMatchObject({ entries: 3, drift: [] });
  });

  test('keeps entries and their counters while the user changes others, and takes removed ones away', async (bench) => {
    const [first, second, third] = ROUTES as [P4Entry, P4Entry, P4Entry];
    await bench.put(ROUTER, { entries: [first, second] });
    bench.send([from(packet(2))], [routed(2)]);
    const toThird = { table: 'routes', action: 'forward', params: { next_hop: mac(MACS[2]!), port: 'p3' } };
    const drop = { ...first, action: 'drop', params: {} };
    await bench.put(ROUTER, { entries: [drop, second], default_actions: [toThird] });
    const { entries } = await bench.programs.tables();
    expect(entries.map(({ match, action, packets }) => [match.dst_addr, action, packets]).sort()).toEqual([
      ['10.0.0.1', 'drop', 0],
      ['10.0.0.2', 'forward', 1],
    ]);
    const other = { port: 'p3', frame: packet(77, 63, MACS[2]! + GATEWAY) };
    expect(bench.send([from(packet(1)), from(packet(77))], [other])).toEqual([other]);
    await bench.put(ROUTER, { entries: [third] });
    const after = await bench.programs.tables();
    expect(after.entries.map(({ match }) => match)).toEqual([third.match]);
    expect(bench.send([from(packet(77)), from(packet(3))], [routed(3)])).toEqual([routed(3)]);
  });

  test('keeps values that are written in other ways, and default actions and groups that others change', async (bench) => {
    const [first] = ROUTES as [P4Entry];
    const defaults = [{ table: 'dmac', action: 'flood', params: { group: '5' } }];
    await bench.put(L2, { default_actions: defaults, groups: [{ id: 5, ports: ['p1', 'p2', 'p3'] }] });
    const flooded = ['p2', 'p3'].map((port) => ({ port, frame: packet(2) }));
    const came = bench.send([from(packet(2))], flooded);
    expect(came).toHaveLength(2);
    expect((await bench.programs.tables()).groups).toEqual([{ id: 5, ports: PORTS, own: true }]);
    const other = bench.other();
    const group = { multicastGroupId: 5, replicas: [{ egressPort: 2, instance: 1 }] };
    await other.write([{ type: 'MODIFY', entity: { packetReplicationEngineEntry: { multicastGroupEntry: group } } }]);
    expect((await bench.driver.read()).drift).toEqual(['1 groups were changed']);
    other.close();
    await bench.putAgain(L2, { default_actions: defaults, groups: [{ id: 5, ports: ['p1', 'p2', 'p3'] }] });
    expect((await bench.driver.read()).drift).toEqual([]);
    await bench.put(ROUTER, { entries: [{ ...first, match: { dst_addr: '0x0a000002/32' } }] });
    expect((await bench.programs.tables()).entries).toMatchObject([{ match: { dst_addr: '0x0a000002/32' } }]);
  });

  test('has the entries of another controller beside its own, as such, and puts back its own', async (bench) => {
    const [first, second, third] = ROUTES as [P4Entry, P4Entry, P4Entry];
    await bench.put(ROUTER, { entries: [first, second] });
    const other = bench.other();
    const program = await loadOwnProgram(ROUTER);
    const numbers = new Map(PORTS.map((name, i) => [name, i + 1]));
    const { metadata: _, ...foreign } = ownEntry({ ...third, match: { dst_addr: '10.7.0.0/16' } }, program, numbers);
    const { tableId, match } = ownEntry(first, program, numbers);
    await other.write([
      { type: 'INSERT', entity: { tableEntry: foreign } },
      { type: 'DELETE', entity: { tableEntry: { tableId, match: match! } } },
    ]);
    expect(await bench.driver.read()).toMatchObject({ entries: 1, drift: ['1 entries were deleted'] });
    await expect(bench.put(ROUTER, { entries: [first, second] })).rejects.toThrow('another controller has it');
    other.close();
    await bench.putAgain(ROUTER, { entries: [first, second] });
    expect(await bench.driver.read()).toMatchObject({ entries: 2, drift: [] });
    // Another agent, or this one after a restart, knows its entries by their mark.
    bench.driver = bench.lab.make();
    await bench.putAgain(ROUTER, { entries: [second] });
    const { entries } = await bench.programs.tables();
    expect(entries.map(({ match: key, own }) => [key.dst_addr, own]).sort()).toEqual([
      ['10.0.0.2', true],
      ['10.7.0.0/16', false],
    ]);
  });

  test('takes keys of every kind, and gives counters and registers', async (bench) => {
    const hosts = ROUTES.map((entry) => ({ ...entry, table: 'hosts' }));
    const watch: P4Entry = {
      table: 'watch',
      match: { src_addr: '10.0.0.0/24', protocol: '17', dst_port: '80..90' },
      priority: 10,
      action: 'count_as',
      params: { class: '7' },
    };
    const any = { ...watch, match: {}, priority: 1, params: { class: '8' } };
    await bench.put(FLOWS, { entries: [...hosts, watch, any] });
    const out = { port: 'p2', frame: packet(2, 64, MACS[1]! + MACS[0]!) };
    bench.send([from(packet(2)), from(packet(2))], [out, out]);
    expect(await bench.programs.cells({ kind: 'counter', name: 'classes', from: 7, count: 2 })).toEqual({
      cells: [
        { index: 7, packets: 2, bytes: 120 },
        { index: 8, packets: 0, bytes: 0 },
      ],
    });
    const registers = await bench.programs.cells({ kind: 'register', name: 'flow_packets', from: 0, count: 1024 });
    expect(registers.cells.map(({ index }) => index)).toEqual(Array.from({ length: 1024 }, (_, i) => i));
    expect(registers.cells.filter(({ value }) => value !== '0x0')).toMatchObject([{ value: '0x2' }]);
    await expect(bench.programs.cells({ kind: 'counter', name: 'none', from: 0, count: 1 })).rejects.toThrow(
      '/name: the program has no counter none',
    );
    expect(await bench.driver.read()).toMatchObject({ entries: 5, drift: [] });
  });

  test('leads packets along a service path by NSH, and counts what a spent index or TTL drops', async (bench) => {
    const [, near, far] = MACS as [string, string, string];
    await bench.put(NSH, {
      entries: [
        { table: 'classify', match: { dst_addr: '10.0.0.3/32' }, action: 'enter', params: { spi: '5', si: '255' } },
        {
          table: 'paths',
          match: { spi: '5', si: '255' },
          action: 'serve',
          params: { next_hop: mac(near), port: 'p2' },
        },
        { table: 'paths', match: { spi: '5', si: '254' }, action: 'leave', params: { next_hop: mac(far), port: 'p3' } },
        {
          table: 'paths',
          match: { spi: '6', si: '9' },
          action: 'forward',
          params: { next_hop: mac(near), port: 'p2' },
        },
        { table: 'paths', match: { spi: '7', si: '1' }, action: 'serve', params: { next_hop: mac(near), port: 'p2' } },
      ],
    });
    const inner = packet(3).subarray(14);
    const base = (ttl: number, words: number, mdType: number, version = 0, next = 1) =>
      (((version << 30) | (ttl << 22) | (words << 16) | (mdType << 8) | next) >>> 0).toString(16).padStart(8, '0');
    const nsh = (to: string, head: string, path: string, context = '') =>
      Buffer.concat([Buffer.from(`${to}${MACS[0]}894f${head}${path}${context}`, 'hex'), inner]);
    const served = { port: 'p2', frame: nsh(near, base(63, 2, 2), '000005fe') };
    const left = { port: 'p3', frame: packet(3, 64, far + MACS[0]) };
    const context = '00112233'.repeat(4);
    const cases: [Buffer, Sent | null][] = [
      [packet(3), served],
      // The function sends back what it got.
      [served.frame, left],
      [nsh(GATEWAY, base(5, 6, 1), '000005fe', context), left],
      [
        nsh(GATEWAY, base(0, 6, 1), '00000609', context),
        { port: 'p2', frame: nsh(near, base(63, 6, 1), '00000609', context) },
      ],
      [nsh(GATEWAY, base(9, 2, 2), '00000500'), null],
      [nsh(GATEWAY, base(9, 2, 2), '00000701'), null],
      [nsh(GATEWAY, base(9, 2, 2), '00000901'), null],
      [nsh(GATEWAY, base(1, 2, 2), '000005fe'), null],
      [nsh(GATEWAY, base(9, 2, 2, 1), '000005fe'), null],
      [nsh(GATEWAY, base(9, 1, 2), '000005fe'), null],
      // Of MD type 1 any length but six words is wrong.
      [nsh(GATEWAY, base(9, 2, 1), '000005fe'), null],
      [nsh(GATEWAY, base(9, 7, 1), '000005fe', '00112233'.repeat(5)), null],
      // No metadata that it knows.
      [nsh(GATEWAY, base(9, 2, 0), '000005fe'), null],
      [nsh(GATEWAY, base(9, 6, 15), '000005fe', context), null],
      // Its end is within its context headers.
      [nsh(GATEWAY, base(9, 63, 2), '000005fe'), null],
      // What has an Ethernet header inside leaves no path as IPv4.
      [nsh(GATEWAY, base(9, 2, 2, 0, 3), '000005fe'), null],
      [packet(2), null],
    ];
    const awaited = cases.flatMap(([, out]) => (out ? [out] : []));
    const came = bench.send(
      cases.map(([frame], i) => ({ port: i === 1 ? 'p2' : 'p1', frame })),
      awaited,
    );
    const text = (all: readonly Sent[]) => all.map(({ port, frame }) => `${port} ${frame.toString('hex')}`).sort();
    expect(text(came)).toEqual(text(awaited));
    const dropped = async () => {
      const { cells } = await bench.programs.cells({ kind: 'counter', name: 'dropped', from: 0, count: 4 });
      return cells.map(({ packets }) => packets);
    };
    await expect.poll(dropped, { timeout: 10_000 }).toEqual([2, 1, 7, 1]);
  });

  test('tells what names a port that is not there, and writes all else', async (bench) => {
    const [first, second] = ROUTES as [P4Entry, P4Entry];
    const lost = { ...second, params: { ...second.params, port: 'p9' } };
    await expect(bench.put(ROUTER, { entries: [first, lost] })).rejects.toThrow(
      'entry 1 of table routes names port p9, which the switch does not have',
    );
    expect((await bench.programs.tables()).entries.map(({ match }) => match)).toEqual([first.match]);
    await bench.put(ROUTER, { entries: [first, second] });
    expect(await bench.driver.read()).toMatchObject({ entries: 2, drift: [] });
    const flood = { table: 'dmac', action: 'flood', params: { group: '5' } };
    await expect(
      bench.put(L2, { default_actions: [flood], groups: [{ id: 5, ports: ['p1', 'p2', 'p9'] }] }),
    ).rejects.toThrow('group 5 names port p9, which the switch does not have');
    expect((await bench.programs.tables()).groups).toEqual([{ id: 5, ports: ['p1', 'p2'], own: true }]);
    const departed = { table: 'last_hop', match: { port: 'p9' }, action: 'rewrite', params: { dst: mac(MACS[0]!) } };
    await expect(bench.put(L2, { entries: [departed] })).rejects.toThrow('entry 0 of table last_hop names port p9');
    const numbers = new Map((await bench.driver.ports(PORTS)).map(({ name, number }) => [name, number]));
    const same = ['p2', `${numbers.get('p2')}`].map((port) => ({ ...departed, match: { port } }));
    await expect(bench.put(L2, { entries: same })).rejects.toThrow(
      'entry 1 of table last_hop matches the same packets as entry 0',
    );
    expect((await bench.programs.tables()).entries).toMatchObject([{ match: { port: 'p2' } }]);
  });

  test('is refused where the switch cannot load it; the built-in one names what, and keeps what it had', async (bench) => {
    await bench.put(ROUTER, { entries: [...ROUTES] });
    const broken = filesOf('flow-counter', (json) => json.replaceAll('"crc32"', '"no_such_hash"'));
    const refusal = kind === 'p4' ? /the P4 program mine is refused: .*no_such_hash/ : /the P4 program mine is refused/;
    for (const _ of [1, 2]) await expect(bench.put(broken, {})).rejects.toThrow(refusal);
    // simple_switch_grpc has let go of what it had, and forwards nothing.
    if (kind === 'p4') expect(bench.send([from(packet(2))], [routed(2)])).toEqual([routed(2)]);
    await bench.put(ROUTER, { entries: [...ROUTES] });
    expect(await bench.driver.read()).toMatchObject({ entries: 3, drift: [] });
    expect(bench.send([from(packet(2))], [routed(2)])).toEqual([routed(2)]);
    await expect(bench.put(ROUTER, { name: 'gone', hash: null })).rejects.toThrow('there is no P4 program gone');
    await expect(bench.put(ROUTER, { hash: FLOWS.hash })).rejects.toThrow('the P4 program mine has not arrived yet');
  });

  test('is there again after the switch was killed, with its entries', async (bench) => {
    await bench.put(ROUTER, { entries: [...ROUTES] });
    await bench.lab.kill();
    await bench.lab.start();
    await expect
      .poll(() => bench.driver.read().then(({ drift }) => drift, String), { timeout: 20_000 })
      .toEqual(['the program was replaced: every entry is gone']);
    await bench.put(ROUTER, { entries: [...ROUTES] });
    expect(bench.send([from(packet(3))], [routed(3)])).toEqual([routed(3)]);
  });

  test('gives way to the program of the fabric, and comes back', async (bench) => {
    await bench.put(ROUTER, { entries: [...ROUTES] });
    const fabric = specOf({ steered: [], guards: [], hops: [], mirrored: [] }, switchP4.abilities, 1);
    await bench.driver.apply(fabric, await bench.driver.ports(PORTS));
    expect(await bench.driver.read()).toMatchObject({ entries: fabric.entries.length, drift: [] });
    await expect(bench.programs.tables()).rejects.toThrow('does not run a program of a user');
    await bench.put(ROUTER, { entries: [...ROUTES] });
    expect(bench.send([from(packet(3))], [routed(3)])).toEqual([routed(3)]);
  });
});
