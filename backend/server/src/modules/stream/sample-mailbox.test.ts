import type { LinkSample } from '@orrery/contract';
import { expect, it } from 'vitest';
import { SampleMailbox } from './sample-mailbox.js';

const link = (link_id: string): LinkSample => ({
  link_id,
  t_ms: 1,
  up: true,
  a_to_b_bps: 0,
  b_to_a_bps: 0,
  utilization: 0,
  drops: 0,
});

it('keeps links that are still subscribed when a client resubscribes', () => {
  const mailbox = new SampleMailbox();
  mailbox.subscribe(['link/']);
  mailbox.put([], [link('a-b'), link('a-bc')]);
  mailbox.subscribe(['link/a-b/']);
  expect(mailbox.take()?.links.map(({ link_id }) => link_id)).toEqual(['a-b']);
});
