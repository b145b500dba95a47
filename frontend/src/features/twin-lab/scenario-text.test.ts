import type { ScenarioRun } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { aboutText, newestRun, runShare } from './scenario-text.js';

const run = (id: string, started_ms: number, more: object = {}) =>
  ({ id, scenario_id: 'swap', started_ms, steps: [], figures: [], ...more }) as unknown as ScenarioRun;

it('tells durations roughly', () => expect([aboutText(90), aboutText(300)]).toEqual(['90 s', '5 min']));

describe('runs of a scenario', () => {
  it('are shown by the newest of those that count', () => {
    const runs = [run('a', 1, { figures: [{}] }), run('b', 3), run('c', 9, { scenario_id: 'other' })];
    expect(newestRun(runs, 'swap')?.id).toBe('b');
    expect(newestRun(runs, 'swap', ({ figures }) => figures.length > 0)?.id).toBe('a');
    expect(newestRun([], 'swap')).toBeUndefined();
  });

  it('have done what is done or was skipped', () => {
    const steps = ['done', 'skipped', 'running', 'pending'].map((state) => ({ state }));
    expect(runShare(run('a', 1, { steps }))).toBe(0.5);
    expect(runShare(run('a', 1))).toBe(0);
  });
});
