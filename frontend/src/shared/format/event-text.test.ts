import type { Event } from '@orrery/contract';
import { expect, it } from 'vitest';
import { endingIn, eventText } from './event-text.js';

it('tells the end of an NF in plain words, and any other event as the server does', () => {
  const how = 'the container ended: exit code 1: FATAL: x';
  const ended = {
    type: 'instance.ended',
    subject: 'web.proxy.0',
    message: `web.proxy.0 does not run: ${how}`,
    data: { how },
  };
  expect(eventText(ended as unknown as Event)).toBe(
    'web.proxy.0 does not run. The container ended: its program reported an error (exit code 1).',
  );
  expect(endingIn(ended as unknown as Event)?.log).toBe('FATAL: x');
  const silent = { type: 'instance.unresponsive', subject: 'a', message: 'a does not answer', data: {} };
  expect(eventText(silent as unknown as Event)).toBe('a does not answer');
});
