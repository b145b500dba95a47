import { expect, it } from 'vitest';
import { captureEnd } from './capture-end.js';

const request = { host: 'web-1', filter: '', packets: 2000, duration_s: 3 };

it.each([
  ['packets', 0.41, 'stopped at the limit of 2,000 packets after 0.4 s'],
  ['duration', 3.002, 'stopped after 3.0 s'],
  [null, null, null],
] as const)('a capture that %s ended says so, with the time that it took', (stopped_by, elapsed_s, text) => {
  expect(captureEnd({ stopped_by, elapsed_s, request })).toBe(text);
});
