import { expect, it } from 'vitest';
import { readable } from './readable.js';

it('shows words of a program in one line of bounded length, and lets them write over nothing', () => {
  expect(readable('\u001b[2Jall is well\r\n\u202efdp.x\u0000 é 漢', 300)).toBe('[2Jall is well fdp.x  é 漢');
  expect(readable(`  ${'x'.repeat(1000)}`, 300)).toBe('x'.repeat(300));
});
