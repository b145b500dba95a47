import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import {
  boardCost,
  medians,
  slotResources,
  softwareCost,
  withBoard,
  withCosts,
  withMeasuredAgain,
} from './profile/costs.mjs';
import { engineCosts } from './profile/engine-costs.mjs';
import { synthesisOf } from './profile/synthesis.mjs';
import { ROOT } from './setup/paths.mjs';

const NFS = resolve(ROOT, 'agents/nfs');
const read = (path) => JSON.parse(readFileSync(resolve(NFS, path), 'utf8'));

test('descriptors say what was measured, and of every NF', () => {
  const measured = read('measured.json');
  const boards = read('../../fpga/measured.json');
  const nfs = readdirSync(NFS).filter((nf) => existsSync(resolve(NFS, nf, 'descriptor.json')));
  assert.ok(nfs.length >= 10, 'no descriptors found');
  assert.deepEqual(Object.keys(measured.nfs).sort(), nfs.sort());
  for (const nf of nfs) {
    const descriptor = read(`${nf}/descriptor.json`);
    assert.deepEqual(descriptor, withCosts(descriptor, measured), `${nf}: run npm run profile -- --write`);
    assert.deepEqual(
      descriptor,
      withBoard(descriptor, boards, synthesisOf),
      `${nf}: run npm run profile -- --boards --write`,
    );
  }
});

test('the planner counts with what was measured of the engine', () => {
  const planner = readFileSync(resolve(ROOT, 'backend/planner/src/engine-costs.ts'), 'utf8');
  assert.equal(planner, engineCosts(read('../engine/measured.json')), 'run npm run profile -- --write');
});

test('what the engine spends is never nothing, and grows with the packet where bytes are copied', () => {
  const cheap = { 60: 0.4, 1514: -0.6 };
  const parts = { queue: cheap, gate: cheap, classifier: cheap, merge: cheap, 'look-aside': cheap };
  const text = engineCosts({ command: 'c', date: 'd', machine: 'm', parts: { ...parts, copy: { 60: 13, 1514: 65 } } });
  assert.match(text, /GATE: EngineCost = \{ cycles_per_packet: 1, cycles_per_byte: 0 \};/);
  assert.match(text, /COPY: EngineCost = \{ cycles_per_packet: 11, cycles_per_byte: 0.04 \};/);
  assert.throws(() => engineCosts({ parts }), /copy/);
});

test('a cost profile meets what was measured at both packet lengths', () => {
  assert.deepEqual(softwareCost({ 60: 25.2, 1514: 26.8 }), { cycles_per_packet: 25, cycles_per_byte: 0 });
  for (const cycles of [
    { 60: 208, 1514: 988.8 },
    { 60: 110.5, 1514: 336.4 },
    { 60: 41.4, 1514: 39 },
  ]) {
    const { cycles_per_packet, cycles_per_byte } = softwareCost(cycles);
    for (const [bytes, measured] of Object.entries(cycles))
      assert.ok(Math.abs(cycles_per_packet + cycles_per_byte * bytes - measured) < 9, `${bytes} B: ${measured}`);
  }
});

test('the rate of a slot is what its module carries', () => {
  const { modules, clock_mhz } = read('../../fpga/measured.json');
  const mbps = (nf, bytes) => {
    const { cycles_per_packet, cycles_per_byte } = boardCost(modules[nf], clock_mhz);
    return (bytes * 8 * clock_mhz) / (cycles_per_packet + cycles_per_byte * bytes);
  };
  assert.ok(Math.abs(mbps('sqli-detector', 1514) - 823) < 2, `${mbps('sqli-detector', 1514)} Mb/s`);
  for (const [nf, measured] of Object.entries(modules)) {
    const most = (bytes) => (bytes * 8 * clock_mhz) / measured[bytes].cycles;
    for (const bytes of [60, 1514]) assert.ok(mbps(nf, bytes) <= most(bytes) * 1.01, `${nf}, ${bytes} B`);
  }
});

test('a slot module takes what its synthesis says, whole KiB of memory', () => {
  const xc7 = { lut: 3947, ff: 2343, bram18: 12, dsp: 2 };
  assert.deepEqual(slotResources({ xc7 }), { lut: 3947, ff: 2343, 'bram-kib': 27 });
  assert.equal(slotResources({ xc7: { ...xc7, bram18: 46 } })['bram-kib'], 104);
  const descriptor = { id: 'none', implementations: [{ kind: 'board', cost: {} }] };
  assert.throws(() => withBoard(descriptor, { modules: { none: {} } }, () => null), /none/);
});

test('an NF that is measured by itself has its own date, and the others keep their figures', () => {
  const before = { command: 'c', date: 'monday', machine: 'm', nfs: { b: { 60: 9, 1514: 9 } } };
  const later = { command: 'c', date: 'friday', machine: 'n', nfs: { a: { 60: 5, 1514: 5 }, b: { 60: 7, 1514: 7 } } };
  const measured = withMeasuredAgain(before, later, ['a']);
  assert.deepEqual(measured.nfs, { a: { 60: 5, 1514: 5 }, b: { 60: 9, 1514: 9 } });
  const source = (id) => {
    const descriptor = { id, implementations: [{ kind: 'software', cost: {} }] };
    return withCosts(descriptor, measured).implementations[0].source;
  };
  assert.deepEqual([source('a'), source('b')], ['c, friday, n', 'c, monday, m']);
  assert.throws(() => withMeasuredAgain(before, later, ['zz']), /zz/);
});

test('one slow run does not count', () => {
  const run = (cycles) => [{ nf: 'ids', bytes: 60, cycles }];
  const middle = (list) => list.toSorted((a, b) => a - b)[1];
  assert.deepEqual(medians([run(110), run(990), run(111)], middle, 'nf'), { ids: { 60: 111 } });
});
