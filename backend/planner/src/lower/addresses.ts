import { EXTERNAL_PREFIX, type NfDescriptor, type Plan, type PlannedChain } from '@orrery/contract';
import { indexDescriptors } from '../check/attributes.js';
import { addressToNumber, isAddress, numberToAddress, parsePrefix } from '../check/ipv4.js';
import { type UnplacedGraph, unplacedInstances } from '../igraph/graph.js';
import { partOf } from '../igraph/parts.js';

/** Instances of one address-rewriting NF and the addresses that its configuration gives them. */
interface AddressOwner {
  readonly node: string;
  readonly instances: readonly string[];
  /** Empty: addresses are chosen here. */
  readonly configured: readonly string[];
}

interface AddressShortage {
  readonly node: string;
  readonly needed: number;
  readonly available: number;
}

/** External addresses in the configuration of an NF; defaults of its descriptor do not count. */
export function configuredAddresses(config: Readonly<Record<string, unknown>>): string[] {
  const addresses = config.external_addresses;
  return Array.isArray(addresses) ? addresses.filter((it) => typeof it === 'string' && isAddress(it)) : [];
}

/**
 * Divides external addresses so that no two instances own the same: a configured list goes round the instances;
 * otherwise each instance keeps its address in the running plan, or that of the instance that it replaces, or gets the
 * lowest unused one.
 */
export function assignAddresses(
  owners: readonly AddressOwner[],
  base: Plan | null,
  predecessors: ReadonlyMap<string, string> = new Map(),
): { readonly addresses: ReadonlyMap<string, readonly string[]>; readonly shortages: readonly AddressShortage[] } {
  const addresses = new Map<string, string[]>();
  const shortages: AddressShortage[] = [];
  const taken = new Set<string>();
  for (const { node, instances, configured } of owners) {
    for (const address of configured) taken.add(address);
    if (configured.length === 0) continue;
    if (configured.length < instances.length)
      shortages.push({ node, needed: instances.length, available: configured.length });
    instances.forEach((id, i) => {
      addresses.set(
        id,
        configured.filter((_, k) => k % instances.length === i),
      );
    });
  }
  const running = runningAddresses(base);
  const open = owners.filter(({ configured }) => configured.length === 0);
  for (const id of open.flatMap(({ instances }) => instances)) {
    const [address, ...more] = running.get(id) ?? running.get(predecessors.get(id) ?? '') ?? [];
    if (address === undefined || more.length > 0 || taken.has(address)) continue;
    addresses.set(id, [address]);
    taken.add(address);
  }
  const avoided = new Set([...running.values()].flat());
  const prefix = parsePrefix(EXTERNAL_PREFIX)!;
  let next = prefix.first + 1;
  for (const { node, instances } of open) {
    for (const id of instances) {
      if (addresses.has(id)) continue;
      while (next < prefix.last && (taken.has(numberToAddress(next)) || avoided.has(numberToAddress(next)))) next++;
      if (next >= prefix.last) {
        shortages.push({ node, needed: instances.length, available: 0 });
        break;
      }
      addresses.set(id, [numberToAddress(next++)]);
    }
  }
  return { addresses, shortages };
}

/** Ascending, as numbers. */
export function sortAddresses(addresses: readonly string[]): string[] {
  return addresses.toSorted((a, b) => addressToNumber(a) - addressToNumber(b));
}

function runningAddresses(plan: Plan | null): Map<string, string[]> {
  const out = new Map<string, string[]>();
  for (const { instances } of Object.values(plan?.nodes ?? {})) {
    for (const { id, config, return_to } of instances) if (return_to) out.set(id, configuredAddresses(config));
  }
  return out;
}

/** Address-rewriting NFs of the chains with their instances. */
export function addressOwners(
  chains: readonly PlannedChain[],
  descriptors: readonly NfDescriptor[],
  graph: UnplacedGraph,
): AddressOwner[] {
  const catalogue = indexDescriptors(descriptors);
  return chains.flatMap(({ chain_id, definition }) =>
    definition.nodes.flatMap((node) => {
      const descriptor = node.kind === 'nf' ? catalogue.get(node.nf)! : null;
      if (node.kind !== 'nf' || !descriptor?.return_traffic) return [];
      const id = `${definition.name}.${node.id}`;
      const instances = unplacedInstances(partOf(graph, chain_id))
        .filter(({ pgraph_node }) => pgraph_node === id)
        .map((it) => it.id);
      return [{ node: id, instances, configured: configuredAddresses(node.config) }];
    }),
  );
}

/** Error text for a shortage of addresses. */
export function addressProblem(
  { node, needed, available }: AddressShortage,
  pgraph: Plan['pgraph'],
  chains: readonly PlannedChain[],
): Plan['problems'][number] {
  const at = pgraph.nodes.find(({ id }) => id === node)!;
  const { definition } = chains.find(({ chain_id }) => chain_id === at.chain_id)!;
  return {
    chain_id: at.chain_id,
    code: 'bad-config',
    severity: 'error',
    message: `${needed} instances need an external address each; there are ${available}`,
    pointer: `/nodes/${definition.nodes.findIndex(({ id }) => id === at.node_id)}/config/external_addresses`,
    node: at.node_id,
  };
}
