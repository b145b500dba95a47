import { expect, it } from 'vitest';
import { EventLosses } from './event-losses.js';

it('tells every lost event once, but not each separately', async () => {
  let now_ms = 0;
  let register = 0;
  const told: number[] = [];
  const port = { readRegisters: async () => [register] };
  const losses = new EventLosses(
    0,
    { port },
    (count) => told.push(count),
    () => now_ms,
  );
  await losses.read();
  expect(told).toEqual([]);
  for (register of [5, 9, 2 ** 32 - 1, 3]) {
    await losses.read();
    now_ms += 200;
  }
  expect([told, losses.total]).toEqual([[5], 2 ** 32 + 3]);
  losses.add(10);
  now_ms += 2000;
  await losses.read();
  expect(told.reduce((sum, count) => sum + count, 0)).toBe(losses.total);
  expect(told.length).toBe(2);
  losses.restart();
  register = 4;
  await losses.read();
  expect(losses.total).toBe(2 ** 32 + 17);
});
