import { describe, expect, it } from 'vitest';
import { AttemptLimiter } from './attempt-limiter.js';

describe('AttemptLimiter', () => {
  it('allows ten wrong secrets, then one every six seconds', () => {
    let now = 0;
    const limiter = new AttemptLimiter(() => now);
    for (let attempt = 0; attempt < 10; attempt++) {
      expect(limiter.waitSeconds('a')).toBe(0);
      limiter.failed('a');
    }
    expect(limiter.waitSeconds('a')).toBe(6);
    expect(limiter.waitSeconds('b')).toBe(0);
    now = 5999;
    expect(limiter.waitSeconds('a')).toBe(1);
    now = 6000;
    expect(limiter.waitSeconds('a')).toBe(0);
    limiter.failed('a');
    expect(limiter.waitSeconds('a')).toBe(6);
  });

  it('resets on the right secret', () => {
    const limiter = new AttemptLimiter(() => 0);
    for (let attempt = 0; attempt < 10; attempt++) limiter.failed('a');
    limiter.succeeded('a');
    expect(limiter.waitSeconds('a')).toBe(0);
  });
});
