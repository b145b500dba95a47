import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratchDirectory } from '../testing/scratch.js';
import { cpuFeatures } from './cpu-features.js';

it('features of the processor are those that its kernel lists, word by word', () => {
  const file = join(scratchDirectory(), 'cpuinfo');
  writeFileSync(file, 'model name\t: aes one\nflags\t\t: fpu sha_ni vaes avx512fp16\nvmx flags\t: aes\n');
  expect(cpuFeatures(file)).toEqual(['sha_ni', 'vaes']);
  writeFileSync(file, 'Features\t: asimd\n');
  expect(cpuFeatures(file)).toEqual([]);
  expect(cpuFeatures(`${file}.absent`)).toEqual([]);
});
