import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choose, SELECTION } from './matrix/cases.mjs';
import { differences, heldEntries, heldGroups, plannedEntries, plannedGroups } from './matrix/entries.mjs';
import { darkSpans, lies, outage, recovery, told, wrongEnd, wrongPlace } from './matrix/judge.mjs';
import { Recorder } from './matrix/recorder.mjs';
import { instancesAmong } from './matrix/witness.mjs';

const WELL = { wrong: [], running: ['web'] };
const DEGRADED = { wrong: [{ name: 'web', is: 'degraded' }], running: [] };

/** Rows every 200 ms: 10 packets offered each time, and delivered where `delivers(t_ms)`; `says(t_ms)` is the API's answer, at once. */
function recording(length_ms, delivers, says) {
  const rows = [];
  let [offered, delivered] = [0, 0];
  for (let t_ms = 0; t_ms <= length_ms; t_ms += 200) {
    offered += 10;
    if (delivers(t_ms)) delivered += 10;
    const said = says(t_ms);
    rows.push({ t_ms, traffic: { web: { offered, delivered } }, said: said && { asked_ms: t_ms, ...said } });
  }
  return rows;
}

/** What `says` answers if it took `lateMs` to be recorded. */
const late = (lateMs, says) => (t_ms) => ({ asked_ms: t_ms - lateMs, ...says(t_ms - lateMs) });

test('a chain that is called running while it delivers nothing is a lie, once it lasts', () => {
  const dark = (t_ms) => t_ms < 1000 || t_ms > 8000;
  assert.deepEqual(lies(recording(10_000, dark, () => WELL)), ['web was called running after 4.2 s without a packet']);
  assert.deepEqual(lies(recording(10_000, dark, (t_ms) => (t_ms > 3500 && t_ms <= 8200 ? DEGRADED : WELL))), []);
  assert.deepEqual(
    lies(recording(10_000, dark, (t_ms) => (t_ms > 3500 && t_ms <= 8200 ? null : WELL))),
    [],
    'no answer is no lie',
  );
  assert.deepEqual(
    lies(
      recording(
        4000,
        (t_ms) => t_ms < 1000,
        () => WELL,
      ),
    ),
    [],
    'not yet',
  );
});

test('an answer that is recorded late is judged by the time at which it was asked for', () => {
  const dark = (t_ms) => t_ms < 1000 || t_ms > 6000;
  const says = (t_ms) => (t_ms > 4500 && t_ms <= 6200 ? DEGRADED : WELL);
  assert.deepEqual(lies(recording(10_000, dark, late(1400, says))), []);
  assert.equal(
    lies(
      recording(
        10_000,
        dark,
        late(800, () => WELL),
      ),
    ).length,
    1,
  );
  const failed = (t_ms) => (t_ms > 4800 ? wrong('web') : WELL);
  assert.equal(told(recording(10_000, always, late(1400, failed)), 1000, 4000, ENGINE), true);
  assert.equal(told(recording(10_000, always, late(1400, failed)), 600, 4000, ENGINE), false);
  const [end_ms, wellAgain_ms] = [2000, 5000];
  const well = (t_ms) => (t_ms < end_ms || t_ms >= wellAgain_ms ? WELL : wrong('web'));
  assert.equal(recovery(recording(10_000, always, late(1400, well)), end_ms), wellAgain_ms + 1400 - end_ms);
});

test('an idle client is no outage', () => {
  const rows = recording(
    10_000,
    () => false,
    () => WELL,
  ).map((row) => ({ ...row, traffic: { web: { offered: 5, delivered: 5 } } }));
  assert.deepEqual(darkSpans(rows), []);
  assert.equal(outage(rows), 0);
});

test('an outage lasts from the last packet to the next', () => {
  const rows = recording(
    10_000,
    (t_ms) => t_ms < 1000 || t_ms >= 3000,
    () => WELL,
  );
  assert.deepEqual(darkSpans(rows), [{ chain: 'web', from_ms: 800, to_ms: 2800 }]);
});

const always = () => true;
const wrong = (...names) => ({ wrong: names.map((name) => ({ name, is: 'failed' })), running: [] });
const ENGINE = { names: ['server-1', 'web'], isMute: false };

test('what is told counts only from the fault until the deadline', () => {
  const rows = recording(10_000, always, (t_ms) => (t_ms > 5000 ? DEGRADED : WELL));
  assert.equal(told(rows, 2000, 4000, ENGINE), true);
  assert.equal(told(rows, 500, 4000, ENGINE), false);
});

test('only what names the part or its chains tells of it', () => {
  const rows = (said) => recording(6000, always, (t_ms) => (t_ms > 2000 ? said : WELL));
  assert.equal(told(rows(wrong('server-1')), 1000, 4000, ENGINE), true);
  assert.equal(told(rows(wrong('extra', 'server-2')), 1000, 4000, ENGINE), false);
  assert.equal(told(rows(wrong()), 1000, 4000, ENGINE), false);
});

test('what was wrong before the fault does not tell of it', () => {
  const rows = recording(6000, always, (t_ms) => (t_ms >= 800 ? wrong('web') : WELL));
  assert.equal(told(rows, 1000, 4000, ENGINE), false);
  assert.equal(told(rows, 600, 4000, ENGINE), true);
  const more = recording(6000, always, (t_ms) => (t_ms > 2000 ? wrong('web', 'server-1') : wrong('web')));
  assert.equal(told(more, 1000, 4000, ENGINE), true);
});

test('a change that was requested tells nothing, and hides nothing', () => {
  const says = (is) => ({ wrong: [{ name: 'server-1', is }], running: [] });
  const rows = (before, after) => recording(6000, always, (t_ms) => (t_ms > 2000 ? after : before));
  assert.equal(told(rows(WELL, says('progressing')), 1000, 4000, ENGINE), false);
  assert.equal(told(rows(says('progressing'), says('disconnected')), 1000, 4000, ENGINE), true);
  assert.equal(told(rows(says('disconnected'), says('disconnected')), 1000, 4000, ENGINE), false);
});

test('no answer tells only of a part without which there is none', () => {
  const rows = recording(6000, always, (t_ms) => (t_ms > 2000 ? null : WELL));
  assert.equal(told(rows, 1000, 4000, ENGINE), false);
  assert.equal(told(rows, 1000, 4000, { names: [], isMute: true }), true);
  const before = recording(6000, always, (t_ms) => (t_ms > 2000 ? WELL : null));
  assert.equal(told(before, 3000, 4000, { names: [], isMute: true }), false);
});

test('an operation that is in force has its effect, another has none', () => {
  for (const [state, wanted, runs, isWrong] of [
    ['COMPLETED', true, true, false],
    ['COMPLETED', true, false, true],
    ['COMPLETED', false, true, true],
    ['PARTIALLY_COMPLETED', true, true, false],
    ['PARTIALLY_COMPLETED', true, false, true],
    ['PARTIALLY_COMPLETED', false, false, false],
    ['FAILED', true, true, true],
    ['FAILED', false, true, false],
    ['ROLLED_BACK', true, false, false],
    ['ROLLED_BACK', false, false, true],
  ])
    assert.equal(wrongEnd(state, wanted, runs).length > 0, isWrong, `${state}, wanted ${wanted}, runs ${runs}`);
});

test('an NF is where the end of its reconfiguration says, and no other end counts', () => {
  const nf = { chain_id: 'c', node_id: 'fw' };
  const on = (board, slot) => ({ on: 'board', slot: { board, slot } });
  const software = { on: 'software' };
  const run = (state, detail = 'why') => ({ state, detail, moves: [{ ...nf, from: software, to: on('board-2', 0) }] });
  const is = (one, place) => wrongPlace(one, nf, place).length === 0;
  assert.ok(is(run('completed', null), on('board-2', 0)));
  assert.ok(!is(run('completed'), on('board-1', 0)));
  assert.ok(!is(run('completed'), software));
  for (const state of ['refused', 'rolled-back']) {
    assert.ok(is(run(state), software), state);
    assert.ok(!is(run(state), on('board-2', 0)), state);
    assert.ok(!is(run(state, null), software), `${state} without a reason`);
  }
  assert.ok(is(run('failed'), software) && is(run('failed'), on('board-2', 0)));
  assert.ok(!is(run('failed'), { on: 'container' }));
  assert.ok(!is(run('cancelled'), software) && !is(run('running'), software));
});

const PORTS = new Map([
  ['p1', 3],
  ['p2', 4],
]);
const ENTRIES = [
  {
    table: 'steer',
    priority: 200,
    match: {
      port: 'p1',
      fields: {
        'eth.type': { value: 2048, mask: 65535 },
        'ip.proto': { value: 6, mask: 255 },
        'ip.src': { value: 0x0a000000, mask: 0xffffff00 },
        'ip.dst': { value: 0x0a000201, mask: 0xffffffff },
        'port.dst': { value: 80, mask: 0xffff },
      },
    },
    actions: [
      { do: 'set-mac', field: 'eth.dst', mac: '06:00:00:00:00:0A' },
      { do: 'decrement-ttl' },
      { do: 'group', group: 7 },
    ],
  },
  {
    table: 'admit',
    priority: 100,
    match: {
      fields: { 'eth.dst': { value: 0x060000000000, mask: 0xff0000000000 }, 'port.src': { value: 0x50, mask: 0xfff0 } },
    },
    actions: [{ do: 'mark-from-host' }, { do: 'next-table', table: 'steer' }],
  },
  { table: 'route', priority: 1, match: { fields: {} }, actions: [{ do: 'output', port: 'p2' }] },
  { table: 'route', priority: 0, match: { fields: {} }, actions: [{ do: 'drop' }] },
];
const FLOWS = [
  'OFPST_FLOW reply (OF1.5) (xid=0x2):',
  ' cookie=0x9, duration=2.1s, table=1, n_packets=5, n_bytes=500, idle_age=1, priority=200,tcp,in_port=3,vlan_tci=0x0000/0x1000,nw_src=10.0.0.0/24,nw_dst=10.0.2.1,tp_dst=80 actions=set_field:06:00:00:00:00:0a->eth_dst,dec_ttl,group:7',
  ' cookie=0x7, duration=2.1s, table=0, n_packets=0, n_bytes=0, priority=100,udp,dl_dst=06:00:00:00:00:00/ff:00:00:00:00:00,tp_src=0x50/0xfff0 actions=set_field:0x1->reg1,move:NXM_OF_IP_PROTO[]->NXM_NX_REG0[0..7],goto_table:1',
  ' cookie=0x5, duration=2.1s, table=2, n_packets=0, n_bytes=0, priority=1 actions=set_field:ANY->in_port,output:4',
  ' cookie=0x3, duration=2.1s, table=2, n_packets=0, n_bytes=0, priority=0 actions=drop',
];
const GROUPS = [
  'OFPST_GROUP_DESC reply (OF1.5) (xid=0x2):',
  ' group_id=7,type=select,bucket=bucket_id:0,actions=output:3',
];

test('entries of the API and of the switch are compared both ways', () => {
  const compare = (flows, ports = PORTS) => differences(plannedEntries(ENTRIES, ports), heldEntries(flows));
  assert.deepEqual(compare(FLOWS), []);
  assert.deepEqual(compare(FLOWS.slice(0, -1)), ['lacks 2 0 -> drop']);
  assert.deepEqual(
    compare([...FLOWS, ' cookie=0x0, duration=1s, n_packets=0, n_bytes=0, priority=65000,ip actions=drop']),
    ['has 0 65000 -> drop too'],
  );
  for (const [from, to] of [
    ['nw_src=10.0.0.0/24', 'nw_src=10.0.0.0/25'],
    ['nw_dst=10.0.2.1', 'nw_dst=10.0.2.2'],
    ['tp_dst=80', 'tp_dst=81'],
    ['in_port=3', 'in_port=4'],
    ['group:7', 'output:3'],
    ['00:0a->eth_dst', '00:0b->eth_dst'],
    ['priority=200', 'priority=201'],
  ])
    assert.equal(compare(FLOWS.map((line) => line.replace(from, to))).length, 2, to);
  assert.equal(compare([...FLOWS, FLOWS[1]]).length, 1, 'the same entry twice');
});

test('groups are compared both ways', () => {
  const wanted = plannedGroups(ENTRIES);
  assert.deepEqual(differences(wanted, heldGroups(GROUPS)), []);
  assert.deepEqual(differences(wanted, heldGroups([])), ['lacks group 7']);
  assert.deepEqual(differences(wanted, heldGroups([...GROUPS, ' group_id=8,type=all'])), ['has group 8 too']);
});

test('the instances of an engine are those with a queue, and the NFs those with a module of their name', () => {
  const modules = [
    'nic0:in',
    'nic0:hops',
    'a.fw.0:queue',
    'a.fw.0:return-queue',
    'a.fw.0',
    'a.ids.0:queue',
    'a.ids.0:tag',
    'exit:a.out',
    'exit:a.out:queue',
    'hop:3',
  ];
  assert.deepEqual(instancesAmong(modules), { nfs: ['a.fw.0'], queued: ['a.fw.0', 'a.ids.0'] });
});

test('a client that is missing at the start is an error', () => {
  assert.throws(() => new Recorder({}, () => ({ web: process.pid, stream: null })), /no client of stream/);
});

test('recovery needs packets of every chain, and an API that says so', () => {
  const rows = recording(
    10_000,
    (t_ms) => t_ms > 4000,
    (t_ms) => (t_ms >= 6000 ? WELL : DEGRADED),
  );
  assert.equal(recovery(rows, 2000), 4000);
  assert.equal(
    recovery(
      recording(
        10_000,
        () => false,
        () => WELL,
      ),
      2000,
    ),
    null,
  );
  assert.equal(
    recovery(
      recording(
        10_000,
        () => true,
        () => DEGRADED,
      ),
      2000,
    ),
    null,
  );
});

test('a seed gives the same cases in the same order, another seed another order; the selection names cases that exist', () => {
  const names = (seed) => choose(seed, null, '').map(({ name, delay_ms }) => `${name} ${delay_ms}`);
  assert.deepEqual(names(1), names(1));
  assert.notDeepEqual(names(1), names(2));
  assert.equal(choose(1, SELECTION, '').length, SELECTION.length);
});

test('faults strike while the change takes place: throughout a deployment, which takes a quarter of a second', () => {
  const delays = (phase) => choose(1, null, ` x ${phase}`).map(({ delay_ms }) => delay_ms);
  assert.ok(delays('quiet').every((delay_ms) => delay_ms === 0));
  for (const phase of ['deploy', 'undeploy']) {
    const all = delays(phase);
    assert.ok(Math.max(...all) <= 350, phase);
    for (const [from, to] of [
      [0, 120],
      [120, 240],
    ])
      assert.ok(
        all.filter((delay_ms) => delay_ms >= from && delay_ms < to).length >= 3,
        `${phase}, ${from} to ${to} ms`,
      );
  }
});

test('a chain whose client is away has not recovered before packets reach the client again', () => {
  const isAway = (t_ms) => t_ms >= 1000 && t_ms < 5000;
  const rows = recording(
    8000,
    (t_ms) => !isAway(t_ms),
    () => WELL,
  ).map((row) => (isAway(row.t_ms) ? { ...row, traffic: {} } : row));
  assert.equal(recovery(rows, 1000), 4000);
});
