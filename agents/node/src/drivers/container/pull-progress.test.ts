import { expect, it } from 'vitest';
import { PullProgress } from './pull-progress.js';

const line = (told: object) => `${JSON.stringify(told)}\r\n`;
const MIB = 2 ** 20;

it('adds up what is known of the layers, however the lines are cut', () => {
  const progress = new PullProgress();
  const text = [
    { status: 'Pulling from a/b', id: '1' },
    { status: 'Pulling fs layer', id: 'x' },
    { status: 'Pulling fs layer', id: 'y' },
    { status: 'Downloading', id: 'x', progressDetail: { current: MIB, total: 4 * MIB } },
    { status: 'Downloading', id: 'y', progressDetail: { current: MIB, total: 2 * MIB } },
  ]
    .map(line)
    .join('');
  for (const letter of text) expect(progress.take(letter)).toBeNull();
  expect(progress.text).toBe('0 of 2 layers, 2 of 6 MiB');
  progress.take(line({ status: 'Pull complete', id: 'x' }));
  expect(progress.text).toBe('1 of 2 layers, 5 of 6 MiB');
});

it('tells of an error, and of lines that are none', () => {
  expect(new PullProgress().take(line({ error: 'denied', errorDetail: { message: 'denied' } }))).toBe('Docker: denied');
  expect(new PullProgress().take('<html>\n')).toContain('other words than JSON');
  expect(new PullProgress().take('x'.repeat(100_000))).toContain('line without end');
});
