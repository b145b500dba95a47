import { Plan } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { makePlan, type PlanInput } from './plan.js';
import { CATALOGUE } from './testing/descriptors.js';
import { rack } from './testing/infrastructure.js';
import { FIGURE_3_1 } from './testing/pipelines.js';

const input = (overrides: Partial<PlanInput> = {}): PlanInput => ({
  id: 'plan-1',
  created_ms: 0,
  strategy: 'e2',
  seed: 1,
  pipelines: [{ pipeline_id: 'p-1', version: 1, definition: FIGURE_3_1 }],
  descriptors: CATALOGUE,
  infrastructure: rack(),
  base: null,
  budget: { iterations: 200 },
  ...overrides,
});

describe('makePlan', () => {
  it('plans E2 figure 3.1', () => {
    const plan = makePlan(input());
    expect(Plan.parse(plan)).toEqual(plan);
    expect(plan.feasible).toBe(true);
  });
});
