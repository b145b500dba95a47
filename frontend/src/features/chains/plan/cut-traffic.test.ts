import type { Plan } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { cutTraffic } from './cut-traffic.js';

const edge = (from: string | null, to: string | null, rate_bps: number, crosses_switch = true) => ({
  from,
  to,
  rate_bps,
  crosses_switch,
});

describe('cutTraffic', () => {
  it('adds up what crosses by servers and direction, the most first', () => {
    const plan = {
      instances: [
        { id: 'a', server: 's1' },
        { id: 'b', server: 's2' },
        { id: 'c', server: 's2' },
      ],
      edges: [
        edge(null, 'a', 9, false),
        edge('a', 'b', 2),
        edge('a', 'c', 3),
        edge('b', 'c', 4, false),
        edge('c', 'a', 7),
      ],
    } as unknown as Plan;
    expect(cutTraffic(plan).map(({ from, to, rate_bps }) => [from, to, rate_bps])).toEqual([
      ['s2', 's1', 7],
      ['s1', 's2', 5],
    ]);
  });
});
