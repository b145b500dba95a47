import { type Plan, type SplitSample, sampleKey } from '@orrery/contract';
import { expect, it } from 'vitest';
import { SplitMeter } from './split-meter.js';

const PLAN = {
  graph: {
    nodes: [0, 1, 2].map((n) => ({ kind: 'nf', id: `c.ids.${n}`, pgraph_node: 'c.ids' })),
    edges: [{ hop: 7, to: 'c.ids.1' }],
  },
} as unknown as Plan;

/** A split before instance `from`; `packets` of the instance here, of the one behind hop 7, and of a third one. */
function split(from: string, packets: readonly number[], over: Partial<SplitSample> = {}): SplitSample {
  const targets = [
    { kind: 'instance', instance_id: 'c.ids.0' },
    { kind: 'hop', hop: 7 },
    { kind: 'instance', instance_id: 'c.ids.2' },
  ] as const;
  return {
    ...{ from_id: from, edge_id: 'c.e1', tracks_flows: true, untracked: 0, displaced: 0 },
    targets: packets.map((count, i) => ({ to: targets[i]!, packets: count, flows: 1, exceptions: 0 })),
    ...over,
  };
}

function meter() {
  const splits = new SplitMeter();
  let clock_ms = 0;
  return {
    /** A report, half a second after the one before. */
    take: (all: readonly SplitSample[], { source = 'server-1', epoch = 'a' } = {}) => {
      clock_ms += 500;
      splits.take(source, { epoch, clock_ms, splits: all }, 'twin', PLAN, clock_ms);
    },
    pps: (n: number) => value(sampleKey('instance', `c.ids.${n}`, 'split_pps')),
    nf: (metric: 'untracked_pps' | 'displaced_per_s') => value(sampleKey('nf', 'c.ids', metric)),
  };

  function value(key: string): number | undefined {
    return splits.now(clock_ms).find((sample) => sample.key === key)?.value;
  }
}

it('knows no rate from one report, and sums those of all splits since', () => {
  const { take, pps } = meter();
  take([split('a', [100, 200]), split('b', [10, 20])]);
  expect([pps(0), pps(1)]).toEqual([undefined, undefined]);
  take([split('a', [150, 300]), split('b', [20, 20])]);
  expect([pps(0), pps(1)]).toEqual([120, 200]);
});

it('counts a split and a target that a change has brought from their first report on', () => {
  const { take, pps } = meter();
  take([split('a', [100, 100])]);
  take([split('a', [150, 150, 30]), split('b', [5, 5])]);
  expect([pps(0), pps(1), pps(2)]).toEqual([110, 110, 60]);
});

it('does not know a rate from counts that fell or restarted', () => {
  const { take, pps } = meter();
  take([split('a', [100, 100])]);
  take([split('a', [40, 110])]);
  expect([pps(0), pps(1)]).toEqual([undefined, 20]);
  take([split('a', [50, 120])]);
  expect([pps(0), pps(1)]).toEqual([20, 20]);
  take([split('a', [60, 130])], { epoch: 'b' });
  expect([pps(0), pps(1)]).toEqual([undefined, undefined]);
});

it.each([
  ['another name', [['c.e1', [900]]], [['c.e9', [950]]]],
  [
    'the name of the next one',
    [
      ['c.e1', [500]],
      ['c.e2', [100]],
    ],
    [
      ['c.e2', [510]],
      ['c.e1', [600]],
    ],
  ],
  [
    'a new one before it',
    [['c.e1', [900]]],
    [
      ['c.e0', [950]],
      ['c.e1', [980]],
    ],
  ],
] as const)('does not compare the counter of an edge with that of another: %s', (_case, before, after) => {
  const { take, pps } = meter();
  const report = (edges: readonly (readonly [string, readonly number[]])[]) =>
    edges.map(([edge_id, packets]) => split('a', packets, { edge_id }));
  take(report(before));
  take(report(after));
  expect(pps(0)).toBeUndefined();
  take(report(after));
  expect(pps(0)).toBe(0);
});

it('does not compare the counters of a rule of a switch that got another name', () => {
  const { take, pps } = meter();
  const rule = (name: string, packets: number) => split(name, [packets], { edge_id: name });
  take([rule('c.classify.e1', 900)]);
  take([rule('c.classify.e9', 950)]);
  expect(pps(0)).toBeUndefined();
  take([rule('c.classify.e9', 960)]);
  expect(pps(0)).toBe(20);
});

it('knows no packets of flows without room where a split does not count them', () => {
  const { take, nf } = meter();
  take([split('a', [1])]);
  take([split('a', [1], { untracked: 50, displaced: 5 })]);
  expect([nf('untracked_pps'), nf('displaced_per_s')]).toEqual([100, 10]);
  const unknown = { untracked: null, displaced: null };
  take([split('a', [1], { untracked: 50, displaced: 5 }), split('b', [1], unknown)]);
  expect([nf('untracked_pps'), nf('displaced_per_s')]).toEqual([undefined, undefined]);
});

it('takes time in proportion to the splits of a report', () => {
  const reads = (count: number) => {
    const { take } = meter();
    let read = 0;
    const counted = (packets: number) =>
      Array.from({ length: count }, (_, n) => {
        const name = `a${n}`;
        return Object.defineProperty(split(name, [packets]), 'from_id', {
          get: () => {
            read++;
            return name;
          },
        });
      });
    take(counted(1));
    take(counted(2));
    return read;
  };
  expect(reads(400)).toBe(10 * reads(40));
});
