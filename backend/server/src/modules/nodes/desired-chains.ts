import { Injectable } from '@nestjs/common';
import type { NodeSpec } from '@orrery/contract';
import type { ChainsOnNodes } from '../../ports/chains-on-nodes.js';

/** Lists of a server that are kept: what happened while it was cut off is told late. */
const MOST_LISTS = 16;

/** From then on, by the wall clock, as events have their times. */
interface Told {
  readonly sinceMs: number;
  readonly chains: readonly string[];
}

/** The chains of what servers were told to run. */
@Injectable()
export class DesiredChains implements ChainsOnNodes {
  private readonly lists = new Map<string, readonly Told[]>();

  told(node: string, { instances }: Pick<NodeSpec, 'instances'>): void {
    const chains = [...new Set(instances.map(({ chain_id }) => chain_id))].sort();
    const lists = this.lists.get(node) ?? [];
    if (lists.at(-1)?.chains.join() === chains.join()) return;
    this.lists.set(node, [...lists, { sinceMs: Date.now(), chains }].slice(-MOST_LISTS));
  }

  of(node: string): string[] {
    return [...(this.lists.get(node)?.at(-1)?.chains ?? [])];
  }

  ranAt(node: string, atMs: number): string[] {
    const lists = this.lists.get(node) ?? [];
    const then = lists.findLast(({ sinceMs }) => sinceMs <= atMs) ?? lists[0];
    return [...(then?.chains ?? [])];
  }
}
