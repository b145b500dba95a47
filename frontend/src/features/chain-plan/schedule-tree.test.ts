import type { SchedulerVertex } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { workerTrees } from './schedule-tree.js';

const vertex = (id: string, parent: string | null, more: Partial<SchedulerVertex> = {}): SchedulerVertex => ({
  id,
  parent,
  kind: 'task',
  label: id,
  worker: 0,
  weight: null,
  level: null,
  ...more,
});

describe('workerTrees', () => {
  it('nests what is served, first level first, and tells each its share', () => {
    const [first, second] = workerTrees([
      vertex('late', 'root', { level: 1 }),
      vertex('root', null, { kind: 'priority' }),
      vertex('fair', 'root', { kind: 'weighted-fair', level: 0 }),
      vertex('a', 'fair', { weight: 3 }),
      vertex('b', 'fair', { weight: 1 }),
      vertex('other', null, { worker: 1 }),
    ]);
    const [root] = first!.roots;
    expect(root!.children.map((child) => child.vertex.id)).toEqual(['fair', 'late']);
    expect(root!.children[0]!.children.map(({ share }) => share)).toEqual([0.75, 0.25]);
    expect(second).toMatchObject({ worker: 1, roots: [{ vertex: { id: 'other' }, share: null }] });
  });
});
