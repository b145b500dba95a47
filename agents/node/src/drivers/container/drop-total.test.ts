import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { DropTotal } from './drop-total.js';

const setUp = () => {
  const file = join(scratchDirectory(), 'drops.json');
  return { file, total: new DropTotal(file) };
};

it('keeps rising however often the NF restarts', () => {
  const { total } = setUp();
  const readings: Parameters<DropTotal['take']>[0][] = [
    { epoch: 'a', drops: { denied: 4 } },
    { epoch: 'a', drops: { denied: 7 } },
    { epoch: 'b', drops: {} },
    { epoch: 'b', drops: { denied: 1, runt: 2 } },
    { epoch: 'c', drops: { runt: 1 } },
  ];
  const seen = readings.map((stats) => {
    total.take(stats);
    return total.drops;
  });
  expect(seen).toEqual([{ denied: 4 }, { denied: 7 }, { denied: 7 }, { denied: 8, runt: 2 }, { denied: 8, runt: 3 }]);
});

it('continues from the same value for the next agent, whatever it reads first', () => {
  const { file, total } = setUp();
  total.take({ epoch: 'a', drops: { denied: 4 } });
  total.take({ epoch: 'b', drops: { denied: 1 } });
  const next = new DropTotal(file);
  expect(next.drops).toEqual({ denied: 4 });
  next.take({ epoch: 'b', drops: { denied: 3 } });
  expect(next.drops).toEqual({ denied: 7 });
});

it('counts the history of an NF that never ended once', () => {
  const { file, total } = setUp();
  total.take({ epoch: 'a', drops: { denied: 4 } });
  const next = new DropTotal(file);
  next.take({ epoch: 'a', drops: { denied: 4 } });
  expect(next.drops).toEqual(total.drops);
});
