import { expect, it } from 'vitest';
import { attachmentText } from './attachment.js';

it('says where packets come to a board from', () => {
  expect(attachmentText({ server: 'srv-1', switches: [] })).toBe('beside the engine of srv-1');
  expect(attachmentText({ server: 'srv-1', switches: ['s1'] })).toBe('at switch s1');
  expect(attachmentText({ server: 'srv-1', switches: ['s1', 's2'] })).toBe('at switches s1 and s2');
});
