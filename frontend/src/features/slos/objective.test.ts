import type { ChainDefinition, SloStatus } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { chain } from '../../editor-model/testing.js';
import { carriedText, errorText, predictionText } from '../../shared/format/prediction.js';
import { mergeSlos } from '../../shared/stream/slo-rows.js';
import { objectiveSeries, objectiveText, summaryText, targetNote, worstFirst } from './objective.js';

const slo = (rest: Partial<SloStatus>): SloStatus => ({
  chain_id: 'pl',
  slo_id: 'latency',
  kind: 'latency',
  state: 'met',
  target: 1000,
  measured: 500,
  predicted: 400,
  band: null,
  error: null,
  budget: null,
  offered: null,
  carried: null,
  unit: 'us',
  window_s: 10,
  packets: 5,
  origin: 'twin',
  t_ms: 100,
  ...rest,
});

describe('objectives in a sentence', () => {
  it('tell those whose budget burns too fast, although none is violated', () => {
    const two = [slo({}), slo({})];
    expect(summaryText(two, 0)).toBe('None of 2 objectives is violated.');
    expect(summaryText(two, 1)).toBe('None of 2 objectives is violated; 1 burns too fast.');
    expect(summaryText([slo({ state: 'violated' }), slo({ state: 'stale' })], 2)).toBe(
      '1 of 2 objectives is violated; 2 burn too fast; 1 has no current figures.',
    );
  });
});

describe('an objective', () => {
  it('does not compare what a chain could carry with what clients send', () => {
    const little = slo({ kind: 'throughput', unit: 'bps', measured: 2e5, predicted: 1e9, offered: 2e5, carried: 1 });
    expect(predictionText(little)).toBe('up to 1.00 Gbit/s');
    expect(carriedText(little)).toBe('100 % of 200 kbit/s offered');
    expect(carriedText(slo({}))).toBeNull();
  });

  it('between classes names both, and has no series of the chain', () => {
    const class_slos = [
      { id: 'cpu', kind: 'cpu-time', a: 'e1', b: 'e2', ratio: 3 },
      { id: 'first', kind: 'priority', above: 'e1', below: 'e2' },
    ] as const;
    const forked = chain('ids>web', 'ids>dns');
    const definition = { ...forked, class_slos } as unknown as ChainDefinition;
    const ratio = slo({ slo_id: 'cpu', kind: 'cpu-ratio', unit: 'ratio', target: 3 });
    expect(objectiveText(ratio, definition)).toBe('CPU time of ids → web over ids → dns');
    expect(objectiveText(ratio, undefined)).toBe('Ratio of CPU time');
    const priority = slo({ slo_id: 'first', kind: 'priority', unit: 'share', target: 0.2 });
    expect(objectiveText(priority, definition)).toBe('ids → dns served while ids → web waits, at most');
    expect(objectiveSeries(priority, definition)).toEqual([]);
  });

  it('of another percentile than those sampled says which lines are not judged, and what the target is of', () => {
    const judging = (percentile: number) =>
      ({ slos: [{ id: 'latency', kind: 'latency', percentile, max_us: 1000 }] }) as unknown as ChainDefinition;
    const labels = (definition?: ChainDefinition) => objectiveSeries(slo({}), definition).map(({ label }) => label);
    expect(labels(judging(90))).toEqual(['p99, not judged', 'p50, not judged']);
    expect(labels(judging(99))).toEqual(['p99', 'p50, not judged']);
    expect(labels()).toEqual(['p99', 'p50']);
    expect(targetNote(slo({}), judging(90))).toBe('The dashed red line is the target of p90.');
    expect(targetNote(slo({}), judging(50))).toBe('The dashed red line is the target.');
  });

  it('comes first when it is violated', () => {
    const states = ['met', 'warming-up', 'no-data', 'violated', 'stale'] as const;
    expect(worstFirst(states.map((state) => slo({ state }))).map(({ state }) => state)).toEqual([
      'violated',
      'stale',
      'no-data',
      'warming-up',
      'met',
    ]);
  });
});

describe('errorText', () => {
  it.each([
    [0.1238, '12.4 % more'],
    [-0.03, '3.0 % less'],
    [0, 'as predicted'],
    [0.99, '99.0 % more'],
    [5.434, '6.4 times as much'],
    [32.4, '33 times as much'],
  ])('tells %d as %s', (error, text) => expect(errorText(error)).toBe(text));
});

describe('mergeSlos', () => {
  it('takes the newer figure, and no objective that is gone', () => {
    const known = [slo({ measured: 1 }), slo({ slo_id: 'b', t_ms: 300, measured: 2 })];
    const streamed = [
      slo({ measured: 9, t_ms: 200 }),
      slo({ slo_id: 'b', t_ms: 200, measured: 9 }),
      slo({ slo_id: 'gone' }),
    ];
    expect(mergeSlos(known, streamed).map(({ measured }) => measured)).toEqual([9, 2]);
  });
});
