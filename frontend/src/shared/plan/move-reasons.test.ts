import type { Plan } from '@orrery/contract';
import { expect, it } from 'vitest';
import { moveReasons } from './move-reasons.js';

it('tells the reasons for the NFs that the move names, and for no others', () => {
  const reason = (part: string, subject: string, because: string) => ({ part, subject, because });
  const plan = {
    request: { implementations: [{ chain_id: 'ch-1', node_id: 'sqli', on: 'board' }] },
    chains: [
      { chain_id: 'ch-1', definition: { name: 'shop' } },
      { chain_id: 'ch-2', definition: { name: 'mail' } },
    ],
    reasons: [
      reason('infrastructure', 'shop.sqli', 'The engine spends 1050 cycles per packet.'),
      reason('placement', 'shop.sqli', 'Server-1 is the nearest.'),
      reason('infrastructure', 'mail.sqli', 'Software.'),
    ],
  } as unknown as Plan;
  expect(moveReasons(plan)).toEqual(['shop.sqli: The engine spends 1050 cycles per packet.']);
});
