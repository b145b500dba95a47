import { describe, expect, it } from 'vitest';
import { waysThrough } from './graph.js';
import { chain } from './testing.js';

describe('waysThrough', () => {
  it('counts the ways from an ingress to an egress that take an edge', () => {
    const ways = waysThrough(chain('ingress>a', 'a>b', 'a>c', 'b>d', 'c>d', 'd>egress', 'c>nowhere'));
    expect(Object.fromEntries(ways)).toEqual({ e1: 2, e2: 1, e3: 1, e4: 1, e5: 1, e6: 2, e7: 0 });
  });

  it('ends on a cycle', () => {
    const ways = waysThrough(chain('ingress>a', 'a>b', 'b>a', 'b>egress'));
    expect(ways.get('e4')).toBeGreaterThanOrEqual(0);
  });
});
