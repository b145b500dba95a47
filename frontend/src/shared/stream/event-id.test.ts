import { describe, expect, it } from 'vitest';
import { compareEventIds, pointBefore } from './event-id.js';

describe('event ids', () => {
  it('are ordered by number, not by text', () => {
    const ids = ['10-0', '9-0', '9-10', '9-9'];
    expect(ids.sort(compareEventIds)).toEqual(['9-0', '9-9', '9-10', '10-0']);
  });

  it('have a point right before them', () => {
    for (const id of ['1700000000000-3', '1700000000000-0'])
      expect(compareEventIds(pointBefore(id), id)).toBeLessThan(0);
    expect(pointBefore('17-3')).toBe('17-2');
    expect(compareEventIds(pointBefore('17-0'), '16-500')).toBeGreaterThan(0);
  });
});
