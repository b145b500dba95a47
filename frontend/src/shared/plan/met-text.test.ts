import { expect, it } from 'vitest';
import { metText } from './plan-text.js';

it('counts the objectives that are met, and none of none', () => {
  expect(metText([{ met: true }, { met: false }])).toBe('1 of 2');
  expect(metText([])).toBe('–');
});
