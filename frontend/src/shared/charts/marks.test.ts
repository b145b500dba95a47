import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { placeLabels } from './marks.js';

const area = { left: 100, right: 300, height: 12, gap: 10 };

describe('placeLabels', () => {
  it('puts a label at the right, one that would lie on it beside it, and one further up at the right again', () => {
    const labels = [200, 195, 180].map((y) => ({ y, width: 80 }));
    expect(placeLabels(labels, area)).toEqual([300, 210, 300]);
  });

  it('leaves out what has no room, and what is wider than all of it', () => {
    const labels = [200, 199, 198].map((y) => ({ y, width: 80 }));
    expect(placeLabels(labels, area)).toEqual([300, 210, null]);
    expect(placeLabels([{ y: 0, width: 201 }], area)).toEqual([null]);
  });

  it('never lays two on one another, nor one outside, in whatever order they come', () => {
    const label = fc.record({ y: fc.integer({ min: 0, max: 100 }), width: fc.integer({ min: 10, max: 120 }) });
    fc.assert(
      fc.property(fc.array(label, { maxLength: 12 }), (labels) => {
        const boxes = placeLabels(labels, area).flatMap((to, i) =>
          to === null ? [] : [{ y: labels[i]!.y, from: to - labels[i]!.width, to }],
        );
        for (const [i, a] of boxes.entries()) {
          expect(a.from).toBeGreaterThanOrEqual(area.left);
          expect(a.to).toBeLessThanOrEqual(area.right);
          for (const b of boxes.slice(i + 1))
            expect(Math.abs(a.y - b.y) >= area.height || a.to < b.from || b.to < a.from).toBe(true);
        }
      }),
    );
  });
});
