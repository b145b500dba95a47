import { bytesNumber } from '../p4runtime/bytes.js';
import type { DigestList } from '../p4runtime/messages.js';

/** What one `Write` takes. */
const MOST_WAITING = 2000;

/** A flow that is to stay where the ranges of its split sent its first packet. */
export interface NewFlow {
  readonly split: bigint;
  readonly flow_id: bigint;
  readonly ip_src: bigint;
  readonly ip_dst: bigint;
  readonly ip_proto: bigint;
  readonly mac: bigint;
  readonly port: bigint;
}
/** As `new_flow_t` of the program has them. */
const MEMBERS = ['split', 'flow_id', 'ip_src', 'ip_dst', 'ip_proto', 'mac', 'port'] as const;

/** Those of a list that no list before it told. */
export interface ToldFlows {
  /** To be acknowledged when they have their entries; null: something of it is to be told again. */
  readonly list: ListName | null;
  readonly flows: readonly NewFlow[];
}
export type ListName = Pick<DigestList, 'digestId' | 'listId'>;

/** New flows that a switch has told, until they get their entries. It tells those again that wait for long. */
export class WaitingFlows {
  private lists: ToldFlows[] = [];
  private readonly texts = new Set<string>();
  private without_place = 0;

  get isEmpty(): boolean {
    return this.lists.length === 0;
  }

  /** Flows that had no place, since the beginning; each time that they were told. */
  get refused(): number {
    return this.without_place;
  }

  add({ digestId, listId, data = [] }: DigestList): void {
    const flows: NewFlow[] = [];
    let isWhole = true;
    for (const { struct } of data) {
      const flow = flowOf(struct?.members ?? []);
      if (!flow) continue;
      const text = MEMBERS.map((name) => flow[name].toString(36)).join(' ');
      if (this.texts.has(text)) continue;
      if (this.texts.size >= MOST_WAITING) {
        this.without_place++;
        isWhole = false;
        continue;
      }
      this.texts.add(text);
      flows.push(flow);
    }
    if (flows.length > 0) this.lists.push({ list: isWhole ? { digestId, listId } : null, flows });
  }

  take(): readonly ToldFlows[] {
    const { lists } = this;
    this.lists = [];
    this.texts.clear();
    return lists;
  }
}

function flowOf(members: readonly { readonly bitstring?: Buffer }[]): NewFlow | null {
  if (members.length !== MEMBERS.length) return null;
  const values = MEMBERS.map((name, i) => [name, bytesNumber(members[i]!.bitstring ?? Buffer.alloc(0))]);
  return Object.fromEntries(values) as unknown as NewFlow;
}
