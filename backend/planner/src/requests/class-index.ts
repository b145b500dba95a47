import { DIRECT_ATTRIBUTES, type DirectAttribute, type Filter } from '@orrery/contract';
import { allPackets, type Box, intersectBoxes } from '../check/packet-space.js';
import { overlap } from '../check/reach.js';
import { filterBox } from '../check/resolve-filter.js';

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

/**
 * Classes of packets, of which no two may have a packet in common. They are found by the fields in which they allow one
 * value only, so thousands that differ in an address or a port are told apart in a few look-ups.
 */
export class ClassIndex {
  /** By host, then by which fields have one value, then by those values. */
  private readonly byHost = new Map<string, Map<string, Map<string, Held[]>>>();

  /** Precondition: no term has a fault. */
  add({ id, from, match }: HeldClass): void {
    const box = filterBox(match, NOTHING_DERIVED, NO_DOMAINS);
    if (!box) return;
    const fields = singleFields(box);
    for (const host of from) {
      const shapes = this.byHost.get(host) ?? new Map<string, Map<string, Held[]>>();
      this.byHost.set(host, shapes);
      const shape = shapes.get(fields.join()) ?? new Map<string, Held[]>();
      shapes.set(fields.join(), shape);
      const values = valuesOf(box, fields);
      shape.set(values, [...(shape.get(values) ?? []), { id, box }]);
    }
  }

  /** A class that has a packet in common with this one, with the host that sends it; `null`: none has. */
  conflictOf({ from, match }: Omit<HeldClass, 'id'>): { readonly id: string; readonly host: string } | null {
    const box = filterBox(match, NOTHING_DERIVED, NO_DOMAINS);
    if (!box) return null;
    const own = singleFields(box);
    for (const host of from) {
      for (const [name, shape] of this.byHost.get(host) ?? []) {
        const fields = (name === '' ? [] : name.split(',')) as DirectAttribute[];
        const known = fields.every((field) => own.includes(field));
        const candidates = known ? (shape.get(valuesOf(box, fields)) ?? []) : [...shape.values()].flat();
        const found = candidates.find((held) => meet(held.box, box));
        if (found) return { id: found.id, host };
      }
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

function singleFields(box: Box): DirectAttribute[] {
  return DIRECT_ATTRIBUTES.filter((field) => {
    const set = box.get(field);
    return set?.length === 1 && set[0]![0] === set[0]![1];
  });
}

function valuesOf(box: Box, fields: readonly DirectAttribute[]): string {
  return fields.map((field) => box.get(field)![0]![0]).join();
}
