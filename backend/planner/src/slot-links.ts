import {
  type Infrastructure,
  type Link,
  type LinkEnd,
  SLOT_ENDS,
  type SlotEnd,
  type SlotRef,
  slotPlace,
  slotPort,
} from '@orrery/contract';

/** A link of a slot whose ports hang on a switch; `peer` is the switch's port. */
interface SlotLink {
  readonly link: Link;
  readonly peer: LinkEnd;
}

/** A slot of a board at a switch, with its link on each side. */
export type LinkedSlot = SlotRef & Readonly<Record<SlotEnd, SlotLink>>;

const KNOWN = new WeakMap<Infrastructure, ReadonlyMap<string, LinkedSlot>>();

/**
 * By place: the slots of boards at a switch, as far as both of their ports have a link to a switch of the fabric. Found once
 * for each infrastructure.
 */
export function linkedSlots(infrastructure: Infrastructure): ReadonlyMap<string, LinkedSlot> {
  const known = KNOWN.get(infrastructure);
  if (known) return known;
  const found = foundSlots(infrastructure);
  KNOWN.set(infrastructure, found);
  return found;
}

function foundSlots({ boards, switches, links }: Infrastructure): ReadonlyMap<string, LinkedSlot> {
  const ofFabric = new Set(switches.flatMap(({ id, program }) => (program === undefined ? [id] : [])));
  const linkAt = (node: string, port: string): SlotLink | undefined => {
    for (const link of links) {
      for (const [own, peer] of [
        [link.a, link.b],
        [link.b, link.a],
      ] as const)
        if (own.node === node && own.port === port && ofFabric.has(peer.node)) return { link, peer };
    }
    return undefined;
  };
  const slots = boards
    .filter(({ attached }) => attached === 'switch')
    .flatMap(({ id: board, slots: count }) => Array.from({ length: count }, (_, slot) => ({ board, slot })));
  return new Map(
    slots.flatMap((ref): [string, LinkedSlot][] => {
      const [near, far] = SLOT_ENDS.map((end) => linkAt(ref.board, slotPort(end, ref.slot)));
      return near && far ? [[slotPlace(ref), { ...ref, near, far }]] : [];
    }),
  );
}

/** Bits per second that both links of a slot carry. */
export function linkRateOf({ near, far }: LinkedSlot): number {
  return Math.min(near.link.bandwidth_bps, far.link.bandwidth_bps);
}
