import type { ParallelForm } from '@orrery/contract';
import { expect, it } from 'vitest';
import { whySequential } from './why-sequential.js';

const form = (more: Partial<ParallelForm>) =>
  ({ strategy: 'orrery', mirrors: 0, reverted: false, conflicts: [], ...more }) as unknown as ParallelForm;
const conflict = { earlier: 'nat', later: 'fw', parallel: false, sentence: 'nat writes ip.src, fw reads ip.src' };

it('names the conflict, the small gain or the option that keeps a line sequential', () => {
  expect(whySequential(form({ conflicts: [{ ...conflict, parallel: true }, conflict] }))).toBe(
    'In sequence by Orrery (exact): nat writes ip.src, fw reads ip.src.',
  );
  expect(whySequential(form({ reverted: true }))).toContain('does not cover the cost of copies and merges');
  expect(whySequential(form({ strategy: 'sequential' }))).toContain('it is the option that is set');
  expect(whySequential(form({}))).toContain('no parallel form is quicker');
  expect(whySequential(form({ mirrors: 1 }))).toBeNull();
});
