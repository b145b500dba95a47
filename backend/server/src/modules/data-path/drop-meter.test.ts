import type { GraphEdge, GraphNode, Plan } from '@orrery/contract';
import { expect, it } from 'vitest';
import { DropMeter } from './drop-meter.js';

const at = { chain_id: 'c', server: 's' };
const nf = (id: string, more: object = {}) => ({ kind: 'nf', id, nf: id, ...at, ...more }) as unknown as GraphNode;
const noOp = (from: string) => ({ direction: 'no-op', from, to: 'n' }) as unknown as GraphEdge;
const plan = {
  graph: {
    nodes: [
      nf('before'),
      { kind: 'mirror', id: 'm', within: null, ...at },
      nf('a', { merge: 'n' }),
      nf('b', { merge: 'n' }),
      { kind: 'merge', id: 'n', mirror: 'm', within: null, ...at },
      { kind: 'queue', id: 'q', ...at },
    ],
    edges: [noOp('a'), noOp('b')],
  },
} as unknown as Plan;

type Drops = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** What is found between the first and the last of some readings. */
function after(...readings: readonly Drops[]) {
  const meter = new DropMeter((name) => (name === 'silent' ? null : ['denied']));
  meter.follow(plan);
  readings.forEach((drops, n) => {
    const of = (id: string) => drops[id] ?? {};
    const instances = ['before', 'a', 'b'].map((id) => ({ instance_id: id, drops: of(id) }));
    const modules = ['m', 'n', 'q'].map((id) => ({ module_id: id, drops: of(id) }));
    meter.take(() => ({ instances, modules }), 1000 * n);
  });
  const toMs = 1000 * readings.length;
  const named = (list: ReturnType<DropMeter['lost']>) =>
    list.map(({ node, packets, reason }) => [node.id, packets, reason]);
  return {
    refused: meter.refused('c', 0, toMs),
    lostPackets: meter.lostPackets('c', 0, toMs),
    lost: named(meter.lost('c', 0, toMs)),
    missing: named(meter.missing('c', 0, toMs)),
  };
}

it('counts a packet that two branches refuse once, by what the merge heard', () => {
  const drops = { before: { denied: 10 }, a: { denied: 30 }, b: { denied: 40 } };
  expect(after({}, { ...drops, n: { branch_dropped: 55 } })).toEqual({
    refused: 65,
    lostPackets: 0,
    lost: [],
    missing: [],
  });
  // The merge cannot have heard of more than all that they refused, nor of less than one of them did.
  expect(after({}, { ...drops, n: { branch_dropped: 90 } }).refused).toBe(80);
  expect(after({}, { ...drops, n: { branch_dropped: 5 } }).refused).toBe(50);
});

it('does not take for refused what a branch lost and announced', () => {
  const drops = { a: { denied: 30 }, b: { denied: 40, no_port: 20 }, n: { branch_dropped: 75 } };
  expect(after({}, drops)).toEqual({ refused: 55, lostPackets: 20, lost: [['b', 20, 'no_port']], missing: [] });
});

it('tells what a merge misses from what it loses, and leaves out copies that are no packets', () => {
  const n = { copy_lost: 7, table_full: 2, unequal: 1, late_copy: 100, duplicate_copy: 100 };
  const found = after({}, { n, m: { copy_failed: 3 }, q: { queue_full: 4 } });
  expect(found.missing).toEqual([['n', 9, 'copy_lost']]);
  expect(found.lost).toEqual([
    ['q', 4, 'queue_full'],
    ['m', 3, 'copy_failed'],
    ['n', 1, 'unequal'],
  ]);
});

it('takes what a slot drops around its NF for lost, also of an NF that does not say what it refuses', () => {
  const drops = { a: { denied: 30, 'no-hop': 8, 'slot-dropped': 2 }, before: { denied: 5, 'no-hop': 7 } };
  const found = after({}, drops);
  expect(found.lost).toEqual([
    ['a', 10, 'no-hop'],
    ['before', 7, 'no-hop'],
  ]);
  expect(found.refused).toBe(35);
  const meter = new DropMeter(() => null);
  meter.follow(plan);
  for (const [nowMs, noHop] of [
    [0, 0],
    [1000, 9],
  ] as const)
    meter.take(
      () => ({ instances: [{ instance_id: 'a', drops: { 'no-hop': noHop, denied: noHop } }], modules: [] }),
      nowMs,
    );
  expect(meter.lost('c', 0, 1000)).toMatchObject([{ packets: 9, reason: 'no-hop' }]);
});

it('counts from zero after a restart, and not what was dropped before it was first read', () => {
  expect(after({ q: { queue_full: 50 } }, { q: { queue_full: 60 } }, { q: { queue_full: 5 } }).lost).toEqual([
    ['q', 15, 'queue_full'],
  ]);
});

it('counts a packet of which several copies are lost once, and those lost outside of the step too', () => {
  expect(after({}, { a: { no_port: 5 }, b: { no_port: 8 }, n: { copy_lost: 6 } }).lostPackets).toBe(8);
  expect(after({}, { b: { no_port: 8 }, n: { copy_lost: 9, unequal: 2 } }).lostPackets).toBe(11);
  expect(
    after({}, { m: { copy_failed: 3 }, n: { copy_lost: 2 }, q: { queue_full: 4 }, before: { denied: 9 } }).lostPackets,
  ).toBe(7);
});
