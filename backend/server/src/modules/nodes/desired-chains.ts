import { Injectable } from '@nestjs/common';
import type { NodeSpec } from '@orrery/contract';
import type { ChainsOnNodes } from '../../ports/chains-on-nodes.js';

/** Of one event. */
const MOST = 64;

/** The chains of what servers were last told to run. */
@Injectable()
export class DesiredChains implements ChainsOnNodes {
  private readonly chains = new Map<string, readonly string[]>();

  told(node: string, { instances }: Pick<NodeSpec, 'instances'>): void {
    this.chains.set(node, [...new Set(instances.map(({ chain_id }) => chain_id))].slice(0, MOST));
  }

  of(node: string): string[] {
    return [...(this.chains.get(node) ?? [])];
  }
}
