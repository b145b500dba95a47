import type { NfSplit, Plan } from '@orrery/contract';
import { threeDigits } from '../figures.js';
import { keptInFront } from './asked-split.js';
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
  asked?: NfSplit,
): Plan['reasons'][number] {
  const cores = threeDigits(node.cores_needed);
  const pps = threeDigits(node.load_pps);
  return {
    part: 'sizing',
    subject: node.id,
    decision: node.instances === 1 ? '1 instance' : `${node.instances} instances`,
    because: `${pps} packets/s need ${cores} of a core; one instance may use ${CORE_BUDGET}.${asked?.instances ? ' So many instances were asked for.' : ''} ${spread(partition, node.instances)}${inFront(unable)}${inSteps(node, asked)}`,
    candidates: [],
    constraint: null,
  };
}

function inSteps({ instances }: PGraphNode, asked: NfSplit | undefined): string {
  const { staged } = asked ?? {};
  if (!staged) return '';
  const { held, exceptions } = staged;
  if (!held)
    return ` The switch has taken over the ranges, and ${exceptions.length} flows that stay elsewhere until they end.`;
  const before = ' The entries of the switch stay as they are: the engine of each old instance';
  if (instances > held.length) return `${before} sends new flows by ranges and keeps those in progress (E2 3.4.4).`;
  const { idle_timeout_s } = keptInFront(asked);
  return `${before} tracks its flows. A flow without a packet for ${idle_timeout_s} s has ended, so after ${idle_timeout_s} s it knows all in progress, and ranges can change (E2 3.4.4).`;
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
