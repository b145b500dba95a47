import type { Accelerator, LoadKind, NfRef, SlotOffer, SlotRef } from '@orrery/contract';
import { useQueries } from '@tanstack/react-query';
import { nfKey } from '../../shared/api/chains.js';
import { call } from '../../shared/api/client.js';
import { constraintText } from '../../shared/plan/plan-text.js';
import { slotValue } from './move-draft.js';
import { sameSlot, slotText } from './nfs.js';

/** An answer stays good while somebody chooses; the plan of the choice is made anew in any case. */
const FRESH_MS = 10_000;

/** What the server says of slots for some NFs, by `nfKey`; an NF of which nothing is known yet is left out. */
export function useSlotOffers(
  nfs: readonly NfRef[],
  load: LoadKind,
  at: SlotRef | null = null,
): ReadonlyMap<string, readonly SlotOffer[]> {
  return useQueries({
    queries: nfs.map(({ chain_id, node_id }) => {
      const query = { chain_id, node_id, load, ...at };
      return {
        queryKey: ['slot-offers', query],
        queryFn: async ({ signal }: { signal: AbortSignal }) =>
          (await call('listSlotOffers', { query }, { signal })).items,
        staleTime: FRESH_MS,
        retry: false,
      };
    }),
    combine: (answers) =>
      new Map(
        answers.flatMap(({ data }, i): [string, readonly SlotOffer[]][] => (data ? [[nfKey(nfs[i]!), data]] : [])),
      ),
  });
}

/** Why the server would refuse the slot; null: it would not, or does not say. */
export function refusalText(offer: SlotOffer | undefined): string | null {
  if (offer?.verdict !== 'refused') return null;
  return offer.problem ?? (offer.conflict ? constraintText(offer.conflict) : 'the server refuses it');
}

/** Every slot that there is, for a list to choose from; one that the server would refuse says why. */
export function slotChoices(boards: readonly Accelerator[], offers: readonly SlotOffer[] = []) {
  return boards.flatMap(({ id, slots }) =>
    slots.map(({ slot }) => {
      const at = { board: id, slot };
      const refusal = refusalText(offers.find((each) => sameSlot(each, at)));
      const label = refusal === null ? slotText(at) : `${slotText(at)}: ${refusal}`;
      return { value: slotValue(at), label, disabled: refusal !== null };
    }),
  );
}
