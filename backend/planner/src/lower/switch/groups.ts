import type { SwitchGroup } from '@orrery/contract';

type WithoutId<Group> = Group extends SwitchGroup ? Omit<Group, 'id'> : never;

/** The groups of one switch, numbered by content and without duplicates. */
export class GroupTable {
  private readonly byId = new Map<number, SwitchGroup>();

  get all(): SwitchGroup[] {
    return [...this.byId.values()];
  }

  /** The number of the group. */
  add(group: WithoutId<SwitchGroup>): number {
    const text = JSON.stringify(group);
    let id = fnv1a(text) % 0x7fff_fffe;
    for (;;) {
      id++;
      const there = this.byId.get(id);
      if (!there) {
        this.byId.set(id, { id, ...group } as SwitchGroup);
        return id;
      }
      const { id: _, ...content } = there;
      if (JSON.stringify(content) === text) return id;
    }
  }
}

export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193) >>> 0;
  return hash;
}
