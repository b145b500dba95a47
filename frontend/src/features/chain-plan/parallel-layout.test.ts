import { describe, expect, it } from 'vitest';
import { criticalVertices, layoutParallel } from './parallel-layout.js';

const nf = (id: string) => ({ id, kind: 'nf' as const, node: id });
const joint = (id: string, kind: 'mirror' | 'merge') => ({ id, kind, node: null });
const links = (...pairs: string[]) => pairs.map((pair) => ({ from: pair.split('>')[0]!, to: pair.split('>')[1]! }));

const graph = {
  vertices: [joint('m1', 'mirror'), nf('ids'), nf('nat'), nf('mon'), joint('j1', 'merge'), nf('out')],
  links: links('m1>ids', 'm1>nat', 'nat>mon', 'ids>j1', 'mon>j1', 'j1>out'),
};

describe('layoutParallel', () => {
  const { vertices, width, height } = layoutParallel(graph);
  const at = (id: string) => vertices.find((vertex) => vertex.id === id)!;

  it('draws branches below each other and joints on their middle', () => {
    expect(at('ids').y).toBeLessThan(at('nat').y);
    expect(at('nat').y).toBe(at('mon').y);
    expect(at('m1').y).toBe((at('ids').y + at('nat').y) / 2);
    expect(at('out').y).toBe(at('j1').y);
  });

  it('runs from left to right within its size', () => {
    for (const { from, to } of graph.links) expect(at(from).x).toBeLessThan(at(to).x);
    for (const { x, y, width: own } of vertices) {
      expect(x + own / 2).toBeLessThanOrEqual(width);
      expect(y).toBeLessThan(height);
    }
  });

  it('draws a graph that is not nested all the same', () => {
    const odd = { vertices: [nf('a'), nf('b'), nf('c')], links: links('a>b', 'a>c') };
    expect(layoutParallel(odd).vertices.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });
});

describe('criticalVertices', () => {
  it('takes in the joints that the path passes', () => {
    expect(criticalVertices(graph, ['nat', 'mon', 'out'])).toEqual(['m1', 'nat', 'mon', 'j1', 'out']);
    expect(criticalVertices(graph, ['ids'])).toEqual([]);
  });
});
