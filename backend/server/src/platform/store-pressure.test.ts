import { expect, it } from 'vitest';
import { pressuresOf } from './store-pressure.js';

const GB = 1024 ** 3;
const room = { free_disk_bytes: 10 * GB, used_memory_bytes: 0, max_memory_bytes: GB };
const whats = (part: Partial<typeof room>) => pressuresOf({ ...room, ...part }).map(({ what }) => what);

it('raises the alarm before the store stops taking changes', () => {
  expect(whats({})).toEqual([]);
  expect(whats({ free_disk_bytes: GB / 4 })).toEqual(['disk']);
  expect(whats({ used_memory_bytes: 0.9 * GB })).toEqual(['memory']);
  expect(whats({ free_disk_bytes: 0, used_memory_bytes: GB })).toEqual(['disk', 'memory']);
});

it('knows nothing of a store without limits', () => {
  expect(pressuresOf({ free_disk_bytes: null, used_memory_bytes: 5 * GB, max_memory_bytes: null })).toEqual([]);
});
