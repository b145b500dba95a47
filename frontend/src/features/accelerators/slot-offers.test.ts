import type { SlotOffer } from '@orrery/contract';
import { expect, it } from 'vitest';
import { slotChoices } from './slot-offers.js';
import { boardWith, slotWith } from './testing.js';

const nf = { chain_id: 'ch-1', node_id: 'ids' };

it('lists every slot, disables those that the server would refuse, with the reason, and says what was not checked', () => {
  const boards = [boardWith({ id: 'b', slots: [0, 1, 2, 3, 4].map((slot) => slotWith({ slot })) })];
  const offer = (slot: number, more: Partial<SlotOffer>): SlotOffer => ({
    ...{ nf, board: 'b', slot, displaces: [], verdict: 'refused', problem: null, conflict: null },
    ...more,
  });
  const conflict = { constraint: 'switch-path', needed: 1, available: 0, unit: 'ways', where: 'leaf-1' } as const;
  const offers = [
    offer(0, { problem: 'the NF is already in this slot' }),
    offer(1, { conflict }),
    offer(2, { verdict: 'possible' }),
    offer(3, { verdict: 'unchecked', problem: 'its plan takes longer than 5 s' }),
  ];
  expect(slotChoices(boards, { items: offers, failed: false }, nf)).toEqual([
    { value: 'b 0', label: 'b slot 0: the NF is already in this slot', disabled: true },
    { value: 'b 1', label: 'b slot 1: no way leads from leaf-1 to where the chain goes on', disabled: true },
    { value: 'b 2', label: 'b slot 2', disabled: false },
    { value: 'b 3', label: 'b slot 3 (not checked: its plan takes longer than 5 s)', disabled: false },
    { value: 'b 4', label: 'b slot 4', disabled: false },
  ]);
});

it('calls no slot possible where the server gave no answer', () => {
  const boards = [boardWith({ id: 'b', slots: [slotWith({ slot: 0 })] })];
  expect(slotChoices(boards, { items: [], failed: true }, nf)).toEqual([
    { value: 'b 0', label: 'b slot 0 (could not be checked)', disabled: false },
  ]);
});
