import { expect, it } from 'vitest';
import { criticalOf } from './critical-path.js';

const links = (...pairs: string[]) => pairs.map((pair) => ({ from: pair.split('>')[0]!, to: pair.split('>')[1]! }));
const nf = (id: string) => ({ id, node: id });
const joint = (id: string) => ({ id, node: null });
const graph = {
  vertices: [joint('in'), joint('m1'), nf('ids'), nf('nat'), nf('mon'), joint('j1'), nf('out'), joint('end')],
  links: links('in>m1', 'm1>ids', 'm1>nat', 'nat>mon', 'ids>j1', 'mon>j1', 'j1>out', 'out>end'),
};

it('takes in the mirrors and merges that the path passes, but not the ends of the chain', () => {
  const { vertices, links: passed } = criticalOf(graph, ['nat', 'mon', 'out']);
  expect([...vertices]).toEqual(['m1', 'nat', 'mon', 'j1', 'out']);
  expect([...passed]).toEqual(['m1 nat', 'nat mon', 'mon j1', 'j1 out']);
});

it('takes in the mirror before and the merge after a path that is one branch', () => {
  expect([...criticalOf(graph, ['ids']).vertices]).toEqual(['m1', 'ids', 'j1']);
});

it('marks the NFs alone where others stand between them', () => {
  const { vertices, links: passed } = criticalOf(graph, ['nat', 'out']);
  expect([...vertices]).toEqual(['nat', 'out']);
  expect(passed.size).toBe(0);
  expect(criticalOf(graph, []).vertices.size).toBe(0);
});
