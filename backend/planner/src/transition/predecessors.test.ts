import type { Plan } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { predecessors } from './migrations.js';

/** Instances that count how often their node is looked at. */
function counted(count: number, suffix: string) {
  const seen = { looks: 0 };
  const instances = Array.from({ length: count }, (_, i) => ({
    id: `web.n${i}.${suffix}`,
    kind: 'nf' as const,
    nf: 'monitor',
    driver: 'engine' as const,
    get pgraph_node() {
      seen.looks++;
      return `web.n${i}`;
    },
  }));
  return { seen, instances };
}

describe('the instances that others follow', () => {
  it('are found with a bounded number of looks at each', () => {
    const count = 500;
    const ran = counted(count, '0');
    const now = counted(count, 'container-0');
    const base = { graph: { nodes: ran.instances, edges: [] } } as unknown as Plan;
    expect(predecessors(base, now.instances).get('web.n7.container-0')).toBe('web.n7.0');
    expect(ran.seen.looks + now.seen.looks).toBeLessThanOrEqual(4 * count);
  });
});
