import type { SwitchGroup } from '@orrery/contract';

/** The groups of one switch, numbered by content and without duplicates. */
export class GroupTable {
  private readonly byId = new Map<number, SwitchGroup>();

  get all(): SwitchGroup[] {
    return [...this.byId.values()];
  }

  /** The number of the group. */
  add(group: Omit<SwitchGroup, 'id'>): number {
    const text = JSON.stringify(group);
    let id = fnv1a(text) % 0x7fff_fffe;
    for (;;) {
      id++;
      const there = this.byId.get(id);
      if (!there) {
        this.byId.set(id, { id, ...group });
        return id;
      }
      const { id: _, ...content } = there;
      if (JSON.stringify(content) === text) return id;
    }
  }
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193) >>> 0;
  return hash;
}
