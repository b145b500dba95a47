import type { Plan } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { brokenObjectives } from './decision.js';

const slo = (pipeline_id: string, met: boolean) => ({ pipeline_id, slo_id: 'fast', met });
const planWith = (...slos: ReturnType<typeof slo>[]) => ({ slos }) as unknown as Plan;

describe('objectives that a reconfiguration would break', () => {
  const now = planWith(slo('moves', true), slo('displaced', true), slo('missed', false));
  const next = planWith(slo('moves', false), slo('displaced', false), slo('missed', false));
  const brokenFor = (priority: number, of: Record<string, number>) =>
    brokenObjectives(now, next, new Set(['moves']), priority, (id) => of[id] ?? 50).map(
      ({ pipeline_id }) => pipeline_id,
    );

  it('are those of more important chains, the displaced one among them, that were to be met', () => {
    expect(brokenFor(50, { displaced: 51, missed: 100 })).toEqual(['displaced']);
    expect(brokenFor(50, { displaced: 50 })).toEqual([]);
    expect(brokenFor(50, { moves: 100 })).toEqual([]);
  });
});
