import type { Plan } from '@orrery/contract';
import { threeDigits } from '../figures.js';
import type { Partition } from './partition.js';
import type { PGraphNode } from './pgraph.js';
import { CORE_BUDGET } from './sizing.js';

/**
 * Why a node has its number of instances, and how flows are assigned to them. `unable`: switches that cannot do that, so
 * that an engine in front does. `asked`: the number that was asked for, whatever its load needs.
 */
export function splitReason(
  node: PGraphNode,
  partition: Partition,
  unable: readonly string[] = [],
  asked: number | null = null,
): Plan['reasons'][number] {
  const cores = threeDigits(node.cores_needed);
  const pps = threeDigits(node.load_pps);
  return {
    part: 'sizing',
    subject: node.id,
    decision: node.instances === 1 ? '1 instance' : `${node.instances} instances`,
    because: `${pps} packets/s need ${cores} of a core; one instance may use ${CORE_BUDGET}.${asked === null ? '' : ` So many instances were asked for.`} ${spread(partition, node.instances)}${inFront(unable)}`,
    candidates: [],
    constraint: null,
  };
}

function inFront(unable: readonly string[]): string {
  if (unable.length === 0) return '';
  return ` ${unable.join(' and ')} cannot do that, so all packets go to one engine first, which shares them out.`;
}

function spread(partition: Partition, instances: number): string {
  switch (partition.kind) {
    case 'single':
      return 'One instance takes all flows.';
    case 'hash':
      if (instances === 1)
        return 'One instance takes all flows; engines track them, so that they stay when it is split.';
      return `Engines hash ${partition.key.join(', ')} to choose one.`;
    case 'switch':
      return `The switch hashes ${partition.key.join(', ')} to choose one.`;
    case 'follow':
      return `Each takes what its counterpart of ${partition.origin} lets through, without classifying again (E2 figure 3.3 d).`;
  }
}
