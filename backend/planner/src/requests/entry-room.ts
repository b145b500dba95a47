import type { Constraint, Filter, Infrastructure } from '@orrery/contract';
import { matchTerms } from '../check/resolve-filter.js';
import { ASSUMED_ABILITIES } from '../lower/switch/abilities.js';
import type { AbilitiesOf } from '../lower/switch/lower-fabric.js';
import { type Fields, fragmentsOf, Inability, matchesOf, Shortage } from '../lower/switch/match.js';
import { MOST_ENTRIES_A_RULE } from '../lower/switch/switch-program.js';
import { switchPlaces } from '../lower/switch/topology.js';

/** Entries that a new way may need at a switch beside those of its class: another sender of a hop it leads to. */
const A_WAY = 2;

export interface ClassOnWay {
  readonly from: readonly string[];
  readonly match: Filter;
  /** Number of its way: what drops fragments is shared on one way only. */
  readonly way: number;
}

interface Need {
  readonly id: string;
  readonly entries: number;
  readonly keys: readonly string[];
  /** Why the switch cannot tell the class; null: it can. */
  readonly lack: string | null;
}

/** What switches have left for the classes of requests; counts as `lowerFabric` makes entries. */
export class EntryRoom {
  private readonly left: Map<string, number>;
  /** What drops fragments is shared by classes that differ in their ports alone. */
  private readonly fragments = new Set<string>();

  /** `left`: entries by switch that no plan uses. */
  constructor(
    private readonly infrastructure: Infrastructure,
    private readonly abilities: AbilitiesOf,
    left: ReadonlyMap<string, number>,
  ) {
    this.left = new Map(left);
  }

  /** The plan has the class already. */
  has(planned: ClassOnWay): void {
    for (const { keys } of this.needsOf(planned)) for (const key of keys) this.fragments.add(key);
  }

  /** Takes the entries of a class; where a switch has no room for it, that shortage, and nothing is taken. */
  take(asked: ClassOnWay, isNewWay: boolean): Constraint | null {
    const found = this.needsOf(asked);
    const unable = found.find(({ lack }) => lack !== null);
    if (unable) return { constraint: 'switch-ability', needed: 1, available: 0, unit: 'abilities', where: unable.id };
    const needs = found.map(({ id, entries, keys }) => ({
      id,
      keys,
      needed: entries + keys.filter((key) => !this.fragments.has(key)).length + (isNewWay ? A_WAY : 0),
    }));
    for (const { id, needed } of needs) {
      const available = this.left.get(id) ?? Number.POSITIVE_INFINITY;
      if (needed > available)
        return { constraint: 'switch-table', needed, available: Math.max(0, available), unit: 'entries', where: id };
    }
    for (const { id, needed, keys } of needs) {
      if (this.left.has(id)) this.left.set(id, this.left.get(id)! - needed);
      for (const key of keys) this.fragments.add(key);
    }
    return null;
  }

  /** By switch at which hosts of the class are attached: entries of its own, and those for fragments. */
  private needsOf({ from, match, way }: ClassOnWay): Need[] {
    const terms = matchTerms(match, () => null, new Map());
    const hasPort = terms.some(({ field }) => field === 'port.src' || field === 'port.dst');
    return switchPlaces(this.infrastructure).flatMap(({ id, attached }): Need[] => {
      const ports = attached.filter(({ endpoint }) => from.includes(endpoint.node)).map(({ port }) => port);
      if (ports.length === 0) return [];
      const abilities = this.abilities.get(id) ?? ASSUMED_ABILITIES;
      try {
        const made = (make: typeof matchesOf): readonly Fields[] => make(terms, abilities, MOST_ENTRIES_A_RULE);
        const keys = hasPort
          ? made(fragmentsOf).flatMap((fields) => ports.map((port) => `${id} ${port} ${way} ${JSON.stringify(fields)}`))
          : [];
        return [{ id, entries: ports.length * made(matchesOf).length, keys, lack: null }];
      } catch (error) {
        if (error instanceof Inability || error instanceof Shortage)
          return [{ id, entries: 0, keys: [], lack: error.message }];
        throw error;
      }
    });
  }
}
