import { DIRECT_ATTRIBUTES, type Filter } from '@orrery/contract';
import { allPackets, type Box, domainOf, intersectBoxes } from '../check/packet-space.js';
import { overlap } from '../check/reach.js';
import { filterBox } from '../check/resolve-filter.js';
import { type Bounds, BoxTree } from './box-tree.js';

/** Packets of hosts that match a filter. */
export interface HeldClass {
  readonly id: string;
  readonly from: readonly string[];
  readonly match: Filter;
}

interface Held {
  readonly id: string;
  readonly box: Box;
}

const NOTHING_DERIVED = () => null;
const NO_DOMAINS: ReadonlyMap<string, number> = new Map();
const EVERYTHING = allPackets(NO_DOMAINS);
const WHOLE = DIRECT_ATTRIBUTES.map((field) => domainOf(field, NO_DOMAINS)[0]!);
const EXTENT = WHOLE.map(([lo, hi]) => hi - lo + 1);

/**
 * Classes of packets, of which no two may have a packet in common. Which has is found without a look at all of them, by
 * whatever fields they differ, so that thousands are told apart.
 */
export class ClassIndex {
  private readonly byHost = new Map<string, BoxTree<Held>>();
  private readonly byId = new Map<string, { readonly from: readonly string[]; readonly held: Held }>();

  get size(): number {
    return this.byId.size;
  }

  /** One that is known by its id is replaced. Precondition: no term has a fault. */
  add({ id, from, match }: HeldClass): void {
    this.remove(id);
    const box = filterBox(match, NOTHING_DERIVED, NO_DOMAINS);
    if (!box) return;
    const held = { id, box };
    const bounds = boundsOf(box);
    const hosts = [...new Set(from)];
    this.byId.set(id, { from: hosts, held });
    for (const host of hosts) {
      const tree = this.byHost.get(host) ?? new BoxTree<Held>(EXTENT);
      this.byHost.set(host, tree);
      tree.add(bounds, held);
    }
  }

  remove(id: string): void {
    const known = this.byId.get(id);
    if (!known) return;
    this.byId.delete(id);
    for (const host of known.from) this.byHost.get(host)!.remove(known.held);
  }

  /** Another class that has a packet in common with this one, with the host that sends it; `null`: none has. */
  conflictOf({ id, from, match }: HeldClass): { readonly id: string; readonly host: string } | null {
    const box = filterBox(match, NOTHING_DERIVED, NO_DOMAINS);
    if (!box) return null;
    const bounds = boundsOf(box);
    for (const host of from) {
      const found = this.byHost.get(host)?.find(bounds, (held) => held.id !== id && meet(held.box, box));
      if (found) return { id: found.id, host };
    }
    return null;
  }
}

/** Whether any packet can match the filter. Precondition: no term has a fault. */
export function canMatch(match: Filter): boolean {
  const box = filterBox(match, NOTHING_DERIVED, NO_DOMAINS);
  return box !== null && overlap(EVERYTHING, box).length > 0;
}

function meet(a: Box, b: Box): boolean {
  const both = intersectBoxes(a, b);
  return both !== null && overlap(EVERYTHING, both).length > 0;
}

function boundsOf(box: Box): Bounds {
  const sets = DIRECT_ATTRIBUTES.map((field, d) => box.get(field) ?? [WHOLE[d]!]);
  return { lo: sets.map((set) => set[0]![0]), hi: sets.map((set) => set.at(-1)![1]) };
}
