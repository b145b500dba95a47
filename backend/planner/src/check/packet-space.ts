import { DIRECT_ATTRIBUTES, type DirectAttribute } from '@orrery/contract';
import type { Spending } from '../budget.js';
import { contains, EMPTY, equalSets, type IntervalSet, intersect, interval, subtract, union } from './interval-set.js';

/**
 * The space of all packets, one dimension an attribute. A derived attribute's dimension holds 0 ("not set") and the
 * ordinals of its declared values from 1. A packet that is neither TCP nor UDP has the port `NO_PORT`: it matches no
 * `is` term on a port and every `is-not` term.
 */
export type Dimension = string;
export const NO_PORT = 65536;
const WITH_PORTS: IntervalSet = [
  [6, 6],
  [17, 17],
];

/** A product of sets; a dimension that is absent is unconstrained. */
export type Box = ReadonlyMap<Dimension, IntervalSet>;

const DIRECT_DOMAIN: Readonly<Record<DirectAttribute, IntervalSet>> = {
  'ip.src': interval(0, 0xffffffff),
  'ip.dst': interval(0, 0xffffffff),
  'ip.proto': interval(0, 255),
  'port.src': interval(0, NO_PORT),
  'port.dst': interval(0, NO_PORT),
};

export function isDirect(attribute: string): attribute is DirectAttribute {
  return (DIRECT_ATTRIBUTES as readonly string[]).includes(attribute);
}

/** Number of declared values of each derived attribute that a filter names. */
export type DerivedDomains = ReadonlyMap<Dimension, number>;

export function domainOf(dimension: Dimension, derived: DerivedDomains): IntervalSet {
  return isDirect(dimension) ? DIRECT_DOMAIN[dimension] : interval(0, derived.get(dimension) ?? 0);
}

/** Every packet that exists, before any NF has derived anything: with ports, and without. */
export function allPackets(derived: DerivedDomains): Box[] {
  const unset = [...derived.keys()].map((dimension) => [dimension, interval(0, 0)] as const);
  const ports = interval(0, NO_PORT - 1);
  const none = interval(NO_PORT, NO_PORT);
  return [
    new Map([...unset, ['ip.proto', WITH_PORTS], ['port.src', ports], ['port.dst', ports]]),
    new Map([
      ...unset,
      ['ip.proto', subtract(DIRECT_DOMAIN['ip.proto'], WITH_PORTS)],
      ['port.src', none],
      ['port.dst', none],
    ]),
  ];
}

/** The common part, or `null` when there is none. */
export function intersectBoxes(a: Box, b: Box): Box | null {
  const both: [Dimension, IntervalSet][] = [];
  for (const [dimension, set] of b) {
    const own = a.get(dimension);
    const common = own ? intersect(own, set) : set;
    if (common.length === 0) return null;
    both.push([dimension, common]);
  }
  return new Map([...a, ...both]);
}

/** `a` without `b`, as disjoint boxes. */
export function subtractBox(a: Box, b: Box, derived: DerivedDomains): Box[] {
  if (!intersectBoxes(a, b)) return [a];
  const pieces: Box[] = [];
  const inside = new Map(a);
  for (const [dimension, set] of b) {
    const own = inside.get(dimension) ?? domainOf(dimension, derived);
    const outside = subtract(own, set);
    if (outside.length > 0) pieces.push(new Map(inside).set(dimension, outside));
    inside.set(dimension, intersect(own, set));
  }
  return pieces;
}

/** Intervals that a look at a box takes in one step: those of five fields with a few each. */
const INTERVALS_A_STEP = 16;

/** Steps that a look at each of the boxes takes: one, or more for a box of many dimensions or intervals. */
export function stepsOf(boxes: readonly Box[]): number {
  let steps = 0;
  for (const box of boxes) {
    let intervals = 0;
    for (const set of box.values()) intervals += set.length;
    steps += Math.max(1, intervals / INTERVALS_A_STEP);
  }
  return steps;
}

/**
 * Joins boxes that differ in one dimension only, until none do; drops boxes that lie inside another. The boxes as they are
 * when the budget ends; a look at two boxes takes the steps of the one that is joined (`stepsOf`).
 */
export function mergeBoxes(boxes: readonly Box[], derived: DerivedDomains, spending: Spending): readonly Box[] {
  const out: Box[] = [];
  for (const box of boxes) {
    let candidate = box;
    let steps = stepsOf([candidate]);
    for (let i = 0; i < out.length; ) {
      if (!spending.spend(steps)) return boxes;
      const joined = join(out[i]!, candidate, derived);
      if (joined) {
        candidate = joined;
        steps = stepsOf([candidate]);
        out.splice(i, 1);
        i = 0;
      } else i++;
    }
    out.push(candidate);
  }
  return out;
}

function join(a: Box, b: Box, derived: DerivedDomains): Box | null {
  let differs: Dimension | null = null;
  let aInB = true;
  let bInA = true;
  for (const dimension of new Set([...a.keys(), ...b.keys()])) {
    const domain = domainOf(dimension, derived);
    const x = a.get(dimension) ?? domain;
    const y = b.get(dimension) ?? domain;
    if (equalSets(x, y)) continue;
    aInB &&= subtract(x, y).length === 0;
    bInA &&= subtract(y, x).length === 0;
    if (differs !== null && !aInB && !bInA) return null;
    differs = differs === null ? dimension : '';
  }
  if (aInB) return b;
  if (bInA) return a;
  if (!differs) return null;
  const domain = domainOf(differs, derived);
  return new Map(a).set(differs, union(a.get(differs) ?? domain, b.get(differs) ?? domain));
}

/** The smallest product that holds all boxes; used where a list of them grows beyond its limit. */
export function hull(boxes: readonly Box[], derived: DerivedDomains): Box {
  const out = new Map<Dimension, IntervalSet>();
  for (const dimension of new Set(boxes.flatMap((box) => [...box.keys()]))) {
    const domain = domainOf(dimension, derived);
    out.set(
      dimension,
      boxes.reduce<IntervalSet>((set, box) => union(set, box.get(dimension) ?? domain), EMPTY),
    );
  }
  return out;
}

/** Whether a box lies among the packets that have ports. Precondition: a part of one of `allPackets`. */
export function hasPorts(box: Box): boolean {
  return !contains(box.get('port.src') ?? EMPTY, NO_PORT);
}

/** The box after an NF wrote the fields: nothing is known about their values any more. */
export function forget(box: Box, written: ReadonlySet<string>): Box[] {
  const regions = written.has('ip.proto') ? allPackets(new Map()) : [box];
  return regions.map((region) => {
    const out = new Map(box);
    const ports = hasPorts(region) ? interval(0, NO_PORT - 1) : interval(NO_PORT, NO_PORT);
    for (const field of ['ip.src', 'ip.dst'] as const) if (written.has(field)) out.delete(field);
    for (const field of ['port.src', 'port.dst'] as const) {
      if (written.has(field) || hasPorts(region) !== hasPorts(box)) out.set(field, ports);
    }
    if (written.has('ip.proto')) out.set('ip.proto', region.get('ip.proto')!);
    return out;
  });
}

/** One packet of a box: a value for each direct attribute and for each derived one that is constrained. */
export function examplePacket(box: Box): Map<Dimension, number> {
  const familiar: Record<DirectAttribute, readonly number[]> = {
    'ip.src': [0x0a000001],
    'ip.dst': [0x0a000002],
    'ip.proto': [6, 17, 1],
    'port.src': [40000],
    'port.dst': [80, 443, 8080],
  };
  const packet = new Map<Dimension, number>();
  for (const attribute of DIRECT_ATTRIBUTES) {
    const set = box.get(attribute) ?? DIRECT_DOMAIN[attribute];
    packet.set(attribute, familiar[attribute].find((value) => contains(set, value)) ?? set[0]![0]);
  }
  for (const [dimension, set] of box) if (!isDirect(dimension)) packet.set(dimension, set[0]![0]);
  return packet;
}
