import { InstanceLog } from '@orrery/contract';
import { expect, it } from 'vitest';
import { logOf } from './container-log.js';

const LINES = ['2026-11-28T05:00:00.000000001Z one', '2026-11-28T05:00:00.5Z two', '2026-11-28T05:00:01Z three'];

it('tells the last lines with their times, and whether there were more', () => {
  const told = InstanceLog.parse(logOf(LINES, { lines: 2 }));
  expect(told.lines.map(({ text }) => text)).toEqual(['two', 'three']);
  expect(told.lines[0]!.t_ms).toBe(Date.parse('2026-11-28T05:00:00.500Z'));
  expect(told.missed).toBe(true);
  expect(logOf(LINES, { lines: 3 }).missed).toBe(false);
});

it('goes on where it was, and stays there while nothing is written', () => {
  const first = logOf(LINES.slice(0, 2), { lines: 10 });
  const then = InstanceLog.parse(logOf(LINES, { lines: 10, after: first.next! }));
  expect(then.lines.map(({ text }) => text)).toEqual(['three']);
  const still = logOf(LINES, { lines: 10, after: then.next! });
  expect([still.lines, still.next]).toEqual([[], then.next]);
  expect(logOf([], { lines: 10 })).toEqual({ lines: [], next: null, missed: false });
});

it('makes what a program writes fit to be shown, and bounds it', () => {
  const { lines } = logOf([`2026-11-28T05:00:00Z \u001b[31mred\u0007${'x'.repeat(5000)}`, 'without a time'], {
    lines: 9,
  });
  expect(lines[0]!.text).toMatch(/^\[31mred x+$/);
  expect(lines[0]!.text.length).toBe(2000);
  expect(lines[1]).toEqual({ t_ms: null, text: 'without a time' });
});
