import type { Accelerator, LoadKind, NfRef, SlotOffer, SlotRef } from '@orrery/contract';
import { useQuery } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { constraintText } from '../../shared/plan/plan-text.js';
import { slotValue } from './move-draft.js';
import { sameNf, sameSlot, slotText } from './nfs.js';

/** An answer stays good while somebody chooses; the plan of the choice is made anew in any case. */
const FRESH_MS = 10_000;

export interface SlotOffers {
  readonly items: readonly SlotOffer[];
  /** The server gave no answer. */
  readonly failed: boolean;
}

/** What the server says of all slots for one NF, or of one slot for all NFs; asks nothing where neither is chosen. */
export function useSlotOffers(of: NfRef | SlotRef | null, load: LoadKind): SlotOffers {
  const query =
    of && 'board' in of
      ? { board: of.board, slot: of.slot, load }
      : { chain_id: of?.chain_id, node_id: of?.node_id, load };
  const { data, isError } = useQuery({
    queryKey: ['slot-offers', query],
    queryFn: async ({ signal }) => (await call('listSlotOffers', { query }, { signal })).items,
    enabled: of !== null,
    staleTime: FRESH_MS,
    refetchOnWindowFocus: false,
  });
  return { items: data ?? [], failed: isError };
}

/** An entry of a list: what the server would refuse cannot be chosen and says why, and what it has not checked says so. */
export function offered(label: string, { items, failed }: SlotOffers, nf: NfRef | null, slot: SlotRef) {
  const offer = items.find((each) => nf && sameNf(each.nf, nf) && sameSlot(each, slot));
  if (offer?.verdict === 'refused') return { label: `${label}: ${refusalText(offer)}`, disabled: true };
  if (offer?.verdict === 'unchecked') return { label: `${label} (not checked: ${offer.problem})`, disabled: false };
  return { label: !offer && failed ? `${label} (could not be checked)` : label, disabled: false };
}

const refusalText = ({ problem, conflict }: SlotOffer): string =>
  problem ?? (conflict ? constraintText(conflict) : 'the server refuses it');

/** Every slot that there is, for a list to choose from. */
export function slotChoices(boards: readonly Accelerator[], offers: SlotOffers, nf: NfRef | null) {
  return boards.flatMap(({ id, slots }) =>
    slots.map(({ slot }) => {
      const at = { board: id, slot };
      return { value: slotValue(at), ...offered(slotText(at), offers, nf, at) };
    }),
  );
}
