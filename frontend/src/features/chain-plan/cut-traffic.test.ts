import type { Plan } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { cutTraffic } from './cut-traffic.js';

const edge = (from_server: string | null, to_server: string, rate_bps: number) => ({
  from_server,
  to_server,
  rate_bps,
});

describe('cutTraffic', () => {
  it('adds up what crosses by servers and direction, the most first', () => {
    const edges = [
      edge(null, 's1', 9),
      edge('s1', 's2', 2),
      edge('s1', 's2', 3),
      edge('s2', 's2', 4),
      edge('s2', 's1', 7),
    ];
    const plan = { graph: { nodes: [], edges } } as unknown as Plan;
    expect(cutTraffic(plan).map(({ from, to, rate_bps }) => [from, to, rate_bps])).toEqual([
      ['s2', 's1', 7],
      ['s1', 's2', 5],
    ]);
  });
});
