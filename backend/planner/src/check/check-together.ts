import type { ChainProblem, NfDescriptor, PlannedChain } from '@orrery/contract';
import { type Budget, requireTime } from '../budget.js';
import { configuredAddresses } from '../lower/addresses.js';
import { indexDescriptors } from './attributes.js';
import { earlierThatMayOverlap } from './class-pairs.js';
import { describePacket } from './describe-packet.js';
import { allPackets, type Box, intersectBoxes } from './packet-space.js';
import { overlap } from './reach.js';
import { filterBox } from './resolve-filter.js';

type LocatedProblem = ChainProblem & { chain_id: string };

/**
 * What prevents individually valid chains from running together.
 * Errors: `OutOfTime` when the time is over before all are compared.
 */
export function checkTogether(
  chains: readonly PlannedChain[],
  descriptors: readonly NfDescriptor[],
  time: Pick<Budget, 'expired'> = {},
): LocatedProblem[] {
  const catalogue = indexDescriptors(descriptors);
  const problems: LocatedProblem[] = [];
  const owners = new Map<string, string>();
  const boxes = chains.map(({ definition }) => filterBox(definition.traffic_class.match, nothingDerived, NO_DOMAINS));
  const mayOverlap = earlierThatMayOverlap(boxes);
  const named = new Map<string, number[]>();
  chains.forEach(({ chain_id, definition }, i) => {
    requireTime(time);
    const error = (code: ChainProblem['code'], pointer: string, message: string, node?: string) =>
      problems.push({
        chain_id,
        code,
        severity: 'error',
        message,
        pointer,
        ...(node === undefined ? {} : { node }),
      });
    const { name, traffic_class } = definition;
    const namesakes = named.get(name) ?? [];
    for (const j of [...new Set([...namesakes, ...mayOverlap(i)])].sort((a, b) => a - b)) {
      requireTime(time);
      const other = chains[j]!.definition;
      if (other.name === name) error('duplicate-id', '/name', `another chain is called "${name}"`);
      const host = traffic_class.from.find((id) => other.traffic_class.from.includes(id));
      if (host === undefined) continue;
      const common = commonPacket(boxes[i]!, boxes[j]!);
      if (common === null) continue;
      const message = `packets from "${host}" belong to "${other.name}" too, for example ${common}`;
      error('class-conflict', '/traffic_class', message);
    }
    named.set(name, [...namesakes, i]);
    definition.nodes.forEach((node, k) => {
      const descriptor = node.kind === 'nf' ? catalogue.get(node.nf) : undefined;
      if (node.kind !== 'nf' || !descriptor?.return_traffic) return;
      configuredAddresses(node.config).forEach((address, a) => {
        const owner = owners.get(address);
        const pointer = `/nodes/${k}/config/external_addresses/${a}`;
        if (owner === undefined) owners.set(address, name);
        else if (owner !== name) error('bad-config', pointer, `${address} already belongs to "${owner}"`, node.id);
      });
    });
  });
  return problems;
}

const nothingDerived = () => null;
const NO_DOMAINS: ReadonlyMap<string, number> = new Map();

/** A packet of both classes in words; `null` when there is none. */
function commonPacket(a: Box | null, b: Box | null): string | null {
  const both = a && b ? intersectBoxes(a, b) : null;
  const box = both ? overlap(allPackets(NO_DOMAINS), both)[0] : undefined;
  return box ? describePacket(box, nothingDerived) : null;
}
