import { FLOW_SPACE, type FlowRange, flawOfRanges } from '@orrery/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { equalRanges } from './flow-range.js';
import { drainedRanges, rangeMoves, scaledRanges } from './scaled-ranges.js';

/** Any partition of the flow space, in any order. */
const partitions = fc
  .tuple(fc.uniqueArray(fc.integer({ min: 1, max: FLOW_SPACE - 1 }), { maxLength: 9 }), fc.infiniteStream(fc.nat()))
  .map(([cuts, order]) => {
    const ends = [0, ...cuts.toSorted((a, b) => a - b), FLOW_SPACE];
    const ranges = ends.slice(1).map((hi, i): FlowRange => ({ lo: ends[i]!, hi }));
    const keys = ranges.map(() => order.next().value as number);
    return ranges
      .map((range, i) => ({ range, key: keys[i]! }))
      .sort((a, b) => a.key - b.key)
      .map(({ range }) => range);
  });

const ownerOf = (ranges: readonly FlowRange[], flow: number) =>
  ranges.findIndex(({ lo, hi }) => lo <= flow && flow < hi);

const isPartition = (ranges: readonly FlowRange[]) =>
  ranges.length === 1 ? ranges[0]!.lo === 0 && ranges[0]!.hi === FLOW_SPACE : flawOfRanges(ranges) === null;

it('split one range in the middle for a new instance, and leave all others', () => {
  fc.assert(
    fc.property(partitions, fc.nat(), (now, at) => {
      const first = at % now.length;
      const after = scaledRanges(now, now.length + 1, first);
      expect(isPartition(after)).toBe(true);
      const moved = rangeMoves(now, after);
      expect(moved).toHaveLength(1);
      const { from, to, lo, hi } = moved[0]!;
      const width = now[from]!.hi - now[from]!.lo;
      if (now[first]!.hi - now[first]!.lo > 1) expect(from).toBe(first);
      expect([to, hi, hi - lo]).toEqual([now.length, now[from]!.hi, Math.floor(width / 2)]);
    }),
  );
});

it('give what leaves to its neighbours, as evenly as can be, and move nothing else', () => {
  fc.assert(
    fc.property(
      partitions.filter((it) => it.length > 1),
      (now) => {
        const after = scaledRanges(now, now.length - 1);
        expect(isPartition(after)).toBe(true);
        const gone = now.at(-1)!;
        const moved = rangeMoves(now, after);
        expect(moved.every(({ from }) => from === now.length - 1)).toBe(true);
        expect(moved.reduce((sum, { lo, hi }) => sum + hi - lo, 0)).toBe(gone.hi - gone.lo);
        const heirs = now.slice(0, -1).flatMap(({ lo, hi }, i) => (hi === gone.lo || lo === gone.hi ? [i] : []));
        if (heirs.length < 2) return;
        const [a, b] = heirs.map((i) => after[i]!.hi - after[i]!.lo) as [number, number];
        const [was, wasToo] = heirs.map((i) => now[i]!.hi - now[i]!.lo) as [number, number];
        // Either they are equal, or the narrower one has got all.
        expect(Math.abs(a - b) <= 1 || a === was || b === wasToo).toBe(true);
      },
    ),
  );
});

it('are as before when what was added goes again', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 1, max: 4 }), (power, more) => {
      const now = equalRanges(2 ** power);
      expect(scaledRanges(scaledRanges(now, now.length + more), now.length)).toEqual(now);
    }),
  );
});

it('drain the last one but for an identity of its own range', () => {
  fc.assert(
    fc.property(
      partitions.filter((it) => it.length > 1),
      (now) => {
        const last = now.length - 1;
        const drained = drainedRanges(now, last);
        const [kept, was] = [drained[last]!, now[last]!];
        expect(isPartition(drained)).toBe(true);
        expect([kept.hi - kept.lo, was.lo <= kept.lo, kept.hi <= was.hi]).toEqual([1, true, true]);
        const final = scaledRanges(now, last);
        for (let flow = 0; flow < FLOW_SPACE; flow += 997)
          if (flow !== kept.lo) expect(ownerOf(drained, flow)).toBe(ownerOf(final, flow));
      },
    ),
  );
});

it('drain those that are to go, and change nothing for the others that contraction would not', () => {
  fc.assert(
    fc.property(
      partitions.filter((it) => it.length > 1),
      fc.nat(),
      (now, drawn) => {
        const left = 1 + (drawn % (now.length - 1));
        const final = scaledRanges(now, left);
        const drained = drainedRanges(now, left);
        expect(isPartition(drained)).toBe(true);
        expect(drained.slice(left).every(({ lo, hi }) => hi - lo === 1)).toBe(true);
        // Nothing of an instance that stays goes to one that is to go.
        expect(rangeMoves(now, drained).filter(({ from, to }) => from < left && to >= left)).toEqual([]);
        for (let flow = 0; flow < FLOW_SPACE; flow += 97) {
          const owner = ownerOf(drained, flow);
          if (owner < left) expect(owner).toBe(ownerOf(final, flow));
        }
      },
    ),
  );
});
