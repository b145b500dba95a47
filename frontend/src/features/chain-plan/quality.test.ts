import type { Quality } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { qualityText } from '../../shared/plan/plan-text.js';
import { withCertificate } from './quality.js';

const answer = (subject: string, bound: number, value = 10): Quality => ({
  part: 'chaining',
  subject,
  objective: 'latency',
  unit: 'us',
  value,
  bound,
  gap: 1 - bound / value,
  optimal: bound === value,
  method: 'search',
  proof: 'tried',
});

describe('withCertificate', () => {
  it('shows the proven bound with the one before it where it got tighter', () => {
    const plan = [answer('a', 5), answer('b', 10)];
    const [first, second] = withCertificate(plan, [answer('a', 8), answer('b', 10)]);
    expect(first).toEqual({ answer: answer('a', 8), before: plan[0] });
    expect(second).toEqual({ answer: plan[1], before: null });
  });

  it('keeps what the plan says of itself where nothing is proven', () => {
    const plan = [answer('a', 5)];
    expect(withCertificate(plan, undefined)).toEqual([{ answer: plan[0], before: null }]);
    expect(withCertificate(plan, [answer('other', 9)])).toEqual([{ answer: plan[0], before: null }]);
  });
});

describe('qualityText', () => {
  it('tells the worst of several answers', () => {
    expect(qualityText([answer('a', 10)])).toBe('proven optimal');
    expect(qualityText([answer('a', 10), answer('b', 8), answer('c', 9)])).toBe('at most 20.0 % from the best');
  });
});
