import { describe, expect, it } from 'vitest';
import { seededRandom } from '../random.js';
import { later, minus, mixture, plus } from './moments.js';

const time = (mean_us: number, variance_us2: number, least_us = 0) => ({ mean_us, variance_us2, least_us });

describe('the later of two times', () => {
  it('is the later one where neither varies, or one always is', () => {
    expect(later(time(3, 0, 1), time(5, 0, 2))).toEqual(time(5, 0, 2));
    const far = later(time(3, 1), time(100, 1));
    expect(far.mean_us).toBeCloseTo(100, 6);
    expect(far.variance_us2).toBeCloseTo(1, 4);
  });

  it('has the moments that drawing normal variables gives', () => {
    const random = seededRandom(1);
    const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const drawn = Array.from({ length: 200_000 }, () => Math.max(10 + 2 * normal(), 11 + 3 * normal()));
    const mean = drawn.reduce((sum, it) => sum + it, 0) / drawn.length;
    const variance = drawn.reduce((sum, it) => sum + (it - mean) ** 2, 0) / drawn.length;
    const found = later(time(10, 4), time(11, 9));
    expect(found.mean_us).toBeCloseTo(mean, 1);
    expect(found.variance_us2).toBeCloseTo(variance, 0);
  });
});

describe('times', () => {
  it('add up and come apart again', () => {
    expect(minus(plus(time(3, 2, 1), time(4, 5, 2)), time(3, 2, 1))).toEqual(time(4, 5, 2));
  });

  it('mix by weight, with the variance between them', () => {
    const found = mixture([
      { weight: 1, time: time(0, 0, 0) },
      { weight: 3, time: time(4, 0, 2) },
    ]);
    expect(found).toEqual(time(3, 3, 0));
  });
});
