import { expect, it } from 'vitest';
import { fairness, lane, leastFairness, mean, partOfBest, totalMean, whileHeld, whole } from './turns.js';

const TURNS = [
  { instance_id: 'a', from_ms: 10_000, to_ms: 21_000 },
  { instance_id: 'b', from_ms: 21_000, to_ms: 32_000 },
  { instance_id: 'a', from_ms: 32_000, to_ms: null },
];

it('counts the time of each within what was observed', () => {
  expect(fairness(TURNS, ['a', 'b'], 10_000, 32_000)).toBe(1);
  expect(fairness(TURNS, ['a', 'b'], 10_000, 21_000)).toBe(0.5);
  expect(fairness(TURNS, ['a', 'b'], 0, 5000)).toBeNull();
  expect(whole(TURNS, 40_000)).toHaveLength(2);
  expect(whole(TURNS, 30_000)).toHaveLength(1);
});

it('asks for more fairness of ten turns than of fewer, and never for more than whole turns can be shared out', () => {
  const inTurn = (tunnels: number, count: number) =>
    Array.from({ length: count }, (_, n) => ({ instance_id: `${n % tunnels}`, from_ms: 11 * n, to_ms: 11 * (n + 1) }));
  const ids = (tunnels: number) => Array.from({ length: tunnels }, (_, n) => `${n}`);
  expect([2, 9, 10, 20].map((count) => leastFairness(inTurn(2, count), ids(2)))).toEqual([0.9, 0.9, 0.98, 0.98]);
  expect([10, 12].map((count) => leastFairness(inTurn(4, count), ids(4)))).toEqual([0.9, 0.98]);
  for (const tunnels of [2, 4])
    for (let count = 2 * tunnels; count <= 40; count++) {
      const turns = inTurn(tunnels, count);
      expect(fairness(turns, ids(tunnels), 0, 11 * count)).toBeGreaterThanOrEqual(leastFairness(turns, ids(tunnels)));
    }
});

it('draws who has it, up to the end', () => {
  expect(lane(TURNS, 'a', 10_000, 40_000, 2)).toEqual([
    [0, 0],
    [0, 0],
    [0, 2],
    [11, 2],
    [11, 0],
    [22, 0],
    [22, 2],
    [30, 2],
    [30, 0],
    [30, 0],
  ]);
});

it('tells what was measured with an accelerator and without, and leaves out the changes of hands', () => {
  const points = Array.from({ length: 30 }, (_, s): [number, number] => [s, s < 11 ? 50 : s < 22 ? 30 : 50]);
  const within = { startMs: 10_000, fromMs: 10_000, endMs: 39_000, edgeS: 2 };
  expect(whileHeld(points, TURNS, 'a', within)).toEqual({ held: 50, not: 30 });
  expect(whileHeld(points, [], 'a', within)).toMatchObject({ held: null });
  expect(mean([])).toBeNull();
});

it('adds what all carried together, and knows nothing where one was not measured', () => {
  const [a, b]: [number, number][][] = [
    [
      [0, 9],
      [1, 10],
      [2, 20],
    ],
    [
      [1, 5],
      [3, 100],
    ],
  ];
  const within = { startMs: 10_000, fromMs: 11_000, endMs: 12_000 };
  expect(totalMean([a!, b!], within)).toBe(20);
  expect(totalMean([a!, []], within)).toBeNull();
});

it('compares a schedule with the best of the others, and only where all were measured', () => {
  expect(partOfBest(55, [40, 50])).toBe(1.1);
  expect(partOfBest(55, [110, 50])).toBe(0.5);
  expect(partOfBest(55, [40, null])).toBeNull();
  expect(partOfBest(null, [40, 50])).toBeNull();
  expect(partOfBest(55, [0, 0])).toBeNull();
});
