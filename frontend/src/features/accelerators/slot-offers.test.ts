import type { SlotOffer } from '@orrery/contract';
import { expect, it } from 'vitest';
import { slotChoices } from './slot-offers.js';
import { boardWith, slotWith } from './testing.js';

it('lists every slot, and disables those that the server would refuse with its reason', () => {
  const boards = [boardWith({ id: 'b', slots: [0, 1, 2, 3].map((slot) => slotWith({ slot })) })];
  const offer = (slot: number, more: Partial<SlotOffer>): SlotOffer => ({
    ...{ board: 'b', slot, displaces: [], verdict: 'refused', problem: null, conflict: null },
    ...more,
  });
  const conflict = { constraint: 'switch-path', needed: 1, available: 0, unit: 'ways', where: 'leaf-1' } as const;
  const offers = [
    offer(0, { problem: 'it is already there' }),
    offer(1, { conflict }),
    offer(2, { verdict: 'possible' }),
  ];
  expect(slotChoices(boards, offers)).toEqual([
    { value: 'b 0', label: 'b slot 0: it is already there', disabled: true },
    { value: 'b 1', label: 'b slot 1: no way leads from leaf-1 to where the chain goes on', disabled: true },
    { value: 'b 2', label: 'b slot 2', disabled: false },
    { value: 'b 3', label: 'b slot 3', disabled: false },
  ]);
});
