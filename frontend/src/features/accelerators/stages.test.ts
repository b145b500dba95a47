import type { StageRecord } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { bandsOf, loadedNothing, packetsLostText, reconfigurationMs, stageSegments, stageSpans } from './stages.js';
import { reconfigurationWith } from './testing.js';

const record = (stage: StageRecord['stage'], state: StageRecord['state'], from: number | null, to: number | null) => ({
  stage,
  state,
  started_ms: from,
  ended_ms: to,
  detail: '',
  operation_id: null,
});
const stages = [
  record('detection', 'done', 0, 1000),
  record('update', 'skipped', 1000, 1000),
  record('configuration', 'running', 1000, null),
  record('response', 'pending', null, null),
];

describe('stages of a reconfiguration', () => {
  it('leave out what was skipped or has not begun; what runs lasts until now', () => {
    expect(stageSpans({ stages }, 5000)).toEqual([
      { stage: 'detection', state: 'done', from_ms: 0, to_ms: 1000 },
      { stage: 'configuration', state: 'running', from_ms: 1000, to_ms: 5000 },
    ]);
  });

  it('are as wide as they lasted and fill the bar; none vanishes', () => {
    const segments = stageSegments({ stages }, 5000);
    expect(segments.map(({ share }) => share)).toEqual([0.2, 0.8]);
    const tiny = stageSegments({ stages: [stages[0]!, record('update', 'done', 1000, 1000)] }, 5000);
    expect(tiny[1]!.share).toBeGreaterThan(0.02);
    expect(tiny.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
  });

  it('are none before the first begins, and share the bar while no time has passed', () => {
    expect(stageSegments(reconfigurationWith({}), 10)).toEqual([]);
    expect(stageSegments({ stages: [record('detection', 'running', 10, null)] }, 10)[0]?.share).toBe(1);
  });

  it('never last less than no time, when clocks differ', () => {
    expect(stageSpans({ stages: [record('detection', 'running', 1000, null)] }, 400)[0]).toMatchObject({ to_ms: 1000 });
    expect(reconfigurationMs(reconfigurationWith({ started_ms: 1000 }), 400)).toBe(0);
  });

  it('are shaded on charts, save those of moves that were refused', () => {
    const done = reconfigurationWith({ state: 'completed', started_ms: 1, ended_ms: 5 });
    expect(bandsOf([done, { ...done, state: 'refused' }, reconfigurationWith({ started_ms: 7 })], 9)).toEqual([
      { from_ms: 1, to_ms: 5 },
      { from_ms: 7, to_ms: 9 },
    ]);
  });
});

it('loads nothing if its load was never begun, once it is over', () => {
  const of = (state: 'completed' | 'running', configuration_ms: number | null) =>
    loadedNothing({ state, stages: [record('configuration', 'skipped', configuration_ms, configuration_ms)] });
  expect(of('completed', null)).toBe(true);
  expect(of('completed', 10)).toBe(false);
  expect(of('running', null)).toBe(false);
});

describe('packetsLostText', () => {
  const stages = (configuration_ms: number | null) =>
    reconfigurationWith({}).stages.map((it) =>
      it.stage === 'configuration' ? { ...it, started_ms: configuration_ms } : it,
    );
  it.each([
    ['3', 3, 'completed', 10],
    ['not known yet', null, 'running', null],
    ['not known', null, 'completed', 10],
    ['–', null, 'completed', null],
  ] as const)('is "%s"', (text, packets_lost, state, loading_ms) =>
    expect(packetsLostText({ packets_lost, state, stages: stages(loading_ms) })).toBe(text),
  );
});
