import type { LoadKind, LoadPolicy } from '@orrery/contract';

export const LOADS: { value: LoadKind; label: string; says: string }[] = [
  { value: 'partial', label: 'Partial', says: 'Replaces this slot; the other slots of the board keep running.' },
  {
    value: 'full',
    label: 'Full',
    says: 'Replaces the whole board: every slot and its links are down during the load.',
  },
];
export const POLICIES: { value: LoadPolicy; label: string; says: string }[] = [
  { value: 'hold', label: 'Hold', says: 'Frames that reach the slot wait in the port.' },
  { value: 'drop', label: 'Drop', says: 'Frames that reach the slot are dropped and counted.' },
  { value: 'bypass', label: 'Bypass', says: 'Frames bypass the NF.' },
];
