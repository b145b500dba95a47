import { describe, expect, it } from 'vitest';
import { layoutGraph, pathThrough } from './graph-layout.js';

const box = (id: string, width = 100) => ({ id, width, height: 40 });
const links = (...pairs: string[]) => pairs.map((pair) => ({ from: pair.split('>')[0]!, to: pair.split('>')[1]! }));

/** ( ids | (nat, ( mon | fw )) ), out */
const nested = {
  vertices: ['m1', 'ids', 'nat', 'm2', 'mon', 'fw', 'j2', 'j1', 'out'].map((id) => box(id)),
  links: links('m1>ids', 'm1>nat', 'nat>m2', 'm2>mon', 'm2>fw', 'mon>j2', 'fw>j2', 'ids>j1', 'j2>j1', 'j1>out'),
};

describe('layoutGraph', () => {
  const { vertices, links: drawn, width, height } = layoutGraph(nested);
  const at = (id: string) => vertices.find((vertex) => vertex.id === id)!;

  it('draws branches below each other in their order, and joints on their middle', () => {
    expect(at('ids').y).toBeLessThan(at('nat').y);
    expect(at('mon').y).toBeLessThan(at('fw').y);
    expect(at('m2').y).toBeCloseTo((at('mon').y + at('fw').y) / 2, -1);
    expect(Math.abs(at('out').y - at('j1').y)).toBeLessThan(4);
  });

  it('runs from left to right, within its size', () => {
    for (const { from, to } of nested.links) expect(at(from).x + 50).toBeLessThan(at(to).x - 50);
    for (const { x, y } of vertices) {
      expect([x - 50, y - 20].every((edge) => edge >= 0)).toBe(true);
      expect(x + 50).toBeLessThanOrEqual(width);
      expect(y + 20).toBeLessThanOrEqual(height);
    }
  });

  it('draws no box over another, and no link through one', () => {
    for (const a of vertices)
      for (const b of vertices)
        if (a.id < b.id && Math.abs(a.x - b.x) < 100) expect(Math.abs(a.y - b.y)).toBeGreaterThan(40);
    const passing = drawn.flatMap(({ points }) => points.slice(1, -1));
    expect(passing.length).toBeGreaterThan(0);
    for (const { x, y } of passing)
      for (const vertex of vertices)
        if (Math.abs(vertex.x - x) <= 50) expect(Math.abs(vertex.y - y)).toBeGreaterThan(20);
  });

  it('draws a branching chain, and nothing at all', () => {
    const odd = { vertices: ['a', 'b', 'c'].map((id) => box(id)), links: links('a>b', 'a>c', 'b>c') };
    expect(layoutGraph(odd).vertices.map(({ x }) => x)).toEqual([58, 182, 306]);
    expect(layoutGraph({ vertices: [], links: [] })).toMatchObject({ vertices: [], width: 0 });
  });
});

it('draws a link from the edge of one box to the edge of the other', () => {
  const { links: drawn } = layoutGraph({ vertices: [box('a'), box('b')], links: links('a>b') });
  expect(pathThrough(drawn[0]!.points)).toBe('M 108 28 C 120 28, 120 28, 132 28');
});
