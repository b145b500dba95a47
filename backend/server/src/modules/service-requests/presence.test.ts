import { expect, it } from 'vitest';
import { Presence } from './presence.js';

it('gives a server up only when its agent has been away for so long without a break', () => {
  const presence = new Presence(100);
  expect(presence.works('a', false, 0)).toBe(true);
  expect(presence.works('a', false, 99)).toBe(true);
  expect(presence.isWaiting(99)).toBe(true);
  expect(presence.works('a', true, 99)).toBe(true);
  expect(presence.isWaiting(99)).toBe(false);
  expect(presence.works('a', false, 150)).toBe(true);
  expect(presence.works('a', false, 250)).toBe(false);
  expect(presence.isWaiting(250)).toBe(false);
});
