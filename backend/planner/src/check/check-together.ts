import type { ChainProblem, NfDescriptor, PlannedChain } from '@orrery/contract';
import { configuredAddresses } from '../lower/addresses.js';
import { indexDescriptors } from './attributes.js';
import { describePacket } from './describe-packet.js';
import { allPackets, intersectBoxes } from './packet-space.js';
import { overlap } from './reach.js';
import { filterBox } from './resolve-filter.js';

type LocatedProblem = ChainProblem & { chain_id: string };

/** What prevents individually valid chains from running together. */
export function checkTogether(chains: readonly PlannedChain[], descriptors: readonly NfDescriptor[]): LocatedProblem[] {
  const catalogue = indexDescriptors(descriptors);
  const problems: LocatedProblem[] = [];
  const owners = new Map<string, string>();
  chains.forEach(({ chain_id, definition }, i) => {
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
    for (const { definition: other } of chains.slice(0, i)) {
      if (other.name === name) error('duplicate-id', '/name', `another chain is called "${name}"`);
      const host = traffic_class.from.find((id) => other.traffic_class.from.includes(id));
      if (host === undefined) continue;
      const common = commonPacket(traffic_class.match, other.traffic_class.match);
      if (common === null) continue;
      const message = `packets from "${host}" belong to "${other.name}" too, for example ${common}`;
      error('class-conflict', '/traffic_class', message);
    }
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

type ClassFilter = PlannedChain['definition']['traffic_class']['match'];

/** A packet of both classes in words; `null` when there is none. */
function commonPacket(a: ClassFilter, b: ClassFilter): string | null {
  const nothingDerived = () => null;
  const none = new Map<string, number>();
  const first = filterBox(a, nothingDerived, none);
  const second = filterBox(b, nothingDerived, none);
  const both = first && second ? intersectBoxes(first, second) : null;
  const box = both ? overlap(allPackets(none), both)[0] : undefined;
  return box ? describePacket(box, nothingDerived) : null;
}
